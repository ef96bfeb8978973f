"""Runs that are killed at moments spread over all work: each goes on where the one before was ended.

The moments are spread evenly over all jobs, and in each over the processor time that it takes, whatever else
the machine does. After each kill the files that are finished must be the undisturbed ones; in the end all of
them, with nothing left over.
"""

import os
import random
import re
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from tools.faults.cases import Case, Journal
from tools.faults.forked import Forked
from tools.faults.project import Ended, Project, jobs, log_of, processor_time, wait_until_gone

_GROUP = {"kill": signal.SIGKILL, "interrupt": signal.SIGINT, "terminate": signal.SIGTERM}
_WORKER, _SECOND, _POWER = "worker killed", "second run", "power cut"
_END = "end of the run"
_LOOK_S = 0.05
# A share of the work: figures of two runs differ by a little, and none is to end before it is met.
_UP_TO = 0.98
# What a disk may not have taken when the power goes.
_UNWRITTEN_S = 5.0
# What a dead writer has not finished has a name of its own; hits of the training go when they were used.
_TRANSIENT = re.compile(r"(^|/)\.|^hits/training")


def plan(seed: int, kills: int, others: int) -> list[str]:
    """Return the faults of each moment, in a random order."""
    kinds = ["kill"] * kills + [
        kind for kind in ("interrupt", "terminate", _WORKER, _SECOND, _POWER) for _ in range(others)
    ]
    random.Random(seed).shuffle(kinds)
    return kinds


def disturb(
    project: Project,
    undisturbed: Mapping[str, bytes],
    work: Mapping[str, float],
    kinds: list[str],
    journal: Journal,
) -> Iterator[None]:
    """Disturb a run at each moment of the plan, and let it end; stops after each."""
    for number, kind in enumerate(kinds):
        name = f"{kind} {number + 1} of {len(kinds)}"
        if name in journal:
            continue
        run = project.start()
        at = _wait_for(project, run, work, _UP_TO * len(work) * (number + 0.5) / len(kinds))
        if at is None:
            journal.add(Case(kind, name, _wrong_end(project.end(run)), survived=False))
            continue
        said, good = _done(kind, project, run)
        wait_until_gone(run.pid)
        if kind == _POWER:
            said.append(f"{_lose_unwritten(project)} records of Snakemake were lost")
        wrong = [
            f"{n} differs"
            for n, content in project.files().items()
            if not _TRANSIENT.search(n) and undisturbed.get(n) != content
        ]
        journal.add(Case(kind, name, ", ".join([f"during {at}", *said, *wrong]), good and not wrong))
        yield
    if _END not in journal:
        end = project.run()
        made = project.files()
        differ = sorted({n for n in {*made, *undisturbed} if made.get(n) != undisturbed.get(n)})
        good = end.code == 0 and not differ
        said_last = "all files are the undisturbed ones" if good else f"code {end.code}: {differ}"
        journal.add(Case("end", _END, said_last, good))


def _done(kind: str, project: Project, run: Forked) -> tuple[list[str], bool]:
    """Do to a run what the plan says; what came of it at once, and whether that is right."""
    if kind == _SECOND:
        second = project.end(project.start(said="second"), said="second")
        good = second.code == 1 and second.clear and run.poll() is None
        os.killpg(run.pid, signal.SIGKILL)
        project.end(run)
        return [second.lines("at work here")], good
    if kind == _WORKER:
        for worker in jobs(run)[:1]:
            worker.kill()
    else:
        os.killpg(run.pid, _GROUP.get(kind, signal.SIGKILL))
    return [], project.end(run).code != 0


def _wait_for(project: Project, run: Forked, work: Mapping[str, float], moment: float) -> str | None:
    """Wait until a run is so many jobs far, and has one; say how far that is. None: it has ended.

    Of a job that is at work, the processor time that it took counts as a share of what it takes undisturbed.
    """
    finished, before = 0, ""
    while run.poll() is None:
        here = jobs(run)
        log = log_of(here[0]) if here else None
        if log in work:
            if log != before:
                finished, before = len(project.work().keys() & work.keys() - {log}), log
            share = min(processor_time(here) / work[log], _UP_TO)
            if finished + share >= moment:
                return f"{log.removesuffix('.log')}, after {share:.0%} of its work"
        time.sleep(_LOOK_S)
    return None


def _lose_unwritten(project: Project) -> int:
    """Leave what a power cut leaves of files that nobody has asked the disk to write; give their number."""
    # A file between writing and renaming.
    (project.results / ".score.json.cut.tmp").write_bytes(b'{"half of')
    fresh = [path for path in _records(project) if time.time() - path.stat().st_mtime < _UNWRITTEN_S]
    for path in fresh:
        path.write_bytes(b"")
    return len(fresh)


def _records(project: Project) -> Iterator[Path]:
    for folder in (".snakemake/metadata", ".snakemake/incomplete"):
        yield from (path for path in (project.folder / folder).rglob("*") if path.is_file())


def _wrong_end(ended: Ended) -> str:
    return f"the run ended by itself, code {ended.code}: {ended.lines('rror')}"
