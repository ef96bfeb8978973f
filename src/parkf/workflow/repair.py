"""Repair of a run before it starts: products that are not its own are replaced or removed, and made again."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from parkf.io.errors import ParkfError
from parkf.io.files import remove
from parkf.io.ledger import Ledger, run_of
from parkf.workflow.damage import ASIDE
from parkf.workflow.products import Problem, Products, lines

REPAIRED = ("foreign", "missing", "stale")
"""Kinds of problems that a run repairs before it starts; Snakemake finds changed documents by itself."""


def repair(
    run: Path, ends: Collection[str] = (), kinds: Collection[str] = REPAIRED
) -> tuple[list[str], bool]:
    """Put right what can be put right in a run, and remove what Snakemake has to make again.

    `ends` are the files that are asked for; by default, the last ones of the run. A foreign file that no run
    here has made is not removed but put aside. Problems that are not of these `kinds` are left alone. Returns
    a line for each problem, and whether all has to be made again, because nobody knows what a product was
    made of. A foreign file in another run, which this one reads, raises a ParkfError.
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
    wrong = [_put_aside(one, run) if one.kind == "foreign" else one for one in mine if one.kind in kinds]
    for path in map(Path, products.after(str(one.path) for one in wrong)):
        # Stages copy from the store what is there of this.
        remove(path)
    return [f"{line}; made again" for line in lines(wrong)], any(one.kind == "unrecorded" for one in mine)


def _put_aside(foreign: Problem, run: Path) -> Problem:
    if foreign.is_known:
        return foreign
    aside = run / ASIDE / foreign.path.relative_to(run)
    aside.parent.mkdir(parents=True, exist_ok=True)
    remove(aside)
    foreign.path.rename(aside)
    return replace(foreign, what=f"{foreign.what}; moved to {aside}")
