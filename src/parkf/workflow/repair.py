"""Repair of a run before it starts: products that are not its own are replaced or removed, and made again."""

import os
from collections.abc import Collection
from pathlib import Path

from parkf.io import store
from parkf.io.errors import ParkfError
from parkf.io.files import remove
from parkf.io.ledger import Ledger, run_of
from parkf.workflow.damage import ASIDE
from parkf.workflow.products import Problem, Products, lines


def repair(run: Path, ends: Collection[str] = (), *, strict: bool = False) -> tuple[list[str], bool]:
    """Put right what can be put right in a run, and remove what Snakemake has to make again.

    `ends` are the files that are asked for; by default, the last ones of the run. A foreign file that no run
    here has made is not removed but put aside. Of a product that the store still has, the right bytes return
    to its place. With `strict`, products of documents that have changed are removed, too; without, Snakemake
    finds these by itself. Returns a line for each problem, and whether all has to be made again, because
    nobody knows what a product was made of. A foreign file in another run, which this one reads, raises a
    ParkfError.
    """
    products = Products(run)
    problems = products.problems([str(run / end) for end in ends])
    for folder, seen in products.seen.items():
        # Snakemake touches products after their stage; the next look need not read them again.
        Ledger(folder).note_seen(seen)
    others = [one for one in problems if one.kind == "foreign" and run_of(one.path) != run]
    if others:
        name = run_of(others[0].path)
        raise ParkfError("\n".join([*map(str, others), f"{name}: run it again; {run} reads these files"]))
    mine = [one for one in problems if run_of(one.path) == run]
    wrong = [
        one
        for one in mine
        if one.kind in ("foreign", "missing", "stale") or (strict and one.kind == "changed")
    ]
    said: list[str] = []
    again: set[str] = set()
    for one in wrong:
        what = _put_away(one) if one.kind == "foreign" else ""
        if one.kind in ("foreign", "missing") and _restored(one, products):
            said.append(f"{one}; {what}its own bytes are back")
        else:
            again.add(str(one.path))
            if one.kind in ("foreign", "missing"):
                said.append(f"{one}; {what}made again")
    said += [
        f"{line}; made again"
        for line in lines(one for one in wrong if one.kind not in ("foreign", "missing"))
    ]
    for path in map(Path, products.after(again)):
        remove(path)
    return said, any(one.kind == "unrecorded" for one in mine)


def _restored(problem: Problem, products: Products) -> bool:
    """Copy a product back to its place, with its earlier time: for Snakemake, nothing has changed."""
    path, name = problem.path, str(problem.path)
    remove(path)
    if not problem.digest or not store.take({path: (problem.digest, path)}):
        return False
    if stamp := products.stamps.get(name):
        os.utime(path, ns=(stamp[1], stamp[1]))
    return True


def _put_away(foreign: Problem) -> str:
    path, run = foreign.path, run_of(foreign.path) or foreign.path.parent
    if foreign.is_known:
        remove(path)
        return "removed, "
    aside = run / ASIDE / path.relative_to(run)
    aside.parent.mkdir(parents=True, exist_ok=True)
    remove(aside)
    path.rename(aside)
    return f"moved to {aside}, "
