"""Repair of a run's chain: foreign files are removed or put aside, and made again."""

import shutil
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from parkf.io.errors import ParkfError
from parkf.workflow.running.chain import Chain, Problem, lines, run_of
from parkf.workflow.running.damage import ASIDE
from parkf.workflow.running.records import write_stamps

_FAMILY = "family report"


@dataclass(frozen=True)
class Repair:
    """What was found in a run."""

    named: list[str]  # a message for each foreign and each missing file
    left: list[str]  # a message for all else that is to be made again
    options: list[str]  # options of Snakemake, to make all of it again


def repair(folder: Path, targets: Collection[str] = ()) -> Repair:
    """Remove the foreign files of a run or family, and find what else is not right.

    `targets` are those of Snakemake. A foreign file that no run here has made is not removed but put aside. A
    foreign file in another run, which this one reads, raises a ParkfError.
    """
    chain = Chain(folder)
    mine = {folder, *(run_of(path) for path in chain.read_by(_FAMILY))}
    problems = chain.problems(targets)
    # Snakemake touches the products of each job after its end; the next look need not read them again.
    for file, stamps in chain.stamps.items():
        if run_of(file) in mine:
            write_stamps(file, stamps)
    foreign = [one for one in problems if one.kind == "foreign" and run_of(one.path) in mine]
    others = [one for one in problems if one.kind == "foreign" and one.is_needed and one not in foreign]
    if others:
        name = run_of(others[0].path)
        raise ParkfError("\n".join([*map(str, others), f"{name}: run it again; {folder} reads these files"]))
    wanted = [one for one in problems if one.is_needed and run_of(one.path) in mine]
    again = [str(one.path) for one in wanted]
    unknown = [path for path in again if Path(path) not in chain]
    return Repair(
        named=[*map(_put_away, foreign), *(f"{one}; made again" for one in wanted if one.kind == "missing")],
        left=[
            f"{line}; made again"
            for line in lines(one for one in wanted if one.kind not in ("foreign", "missing"))
        ],
        options=["--forceall"] if unknown else ["--forcerun", *again] if again else [],
    )


def _put_away(foreign: Problem) -> str:
    path, run = foreign.path, run_of(foreign.path) or foreign.path.parent
    if foreign.is_known:
        _remove(path)
        return f"{foreign}; removed"
    aside = run / ASIDE / path.relative_to(run)
    aside.parent.mkdir(parents=True, exist_ok=True)
    _remove(aside)
    path.rename(aside)
    return f"{foreign}; moved to {aside}"


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
