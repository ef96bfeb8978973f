"""Kills runs at moments that are spread over all work; each run continues where the one before was ended.

The moments are spread evenly over all jobs, and within each job over its processor time, so that other work
on the machine does not matter. After each kill the finished files must be the same as without disturbance. In
the end this must hold for all files, and no other file may be left over.
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
# Fraction of the work after which the last fault comes. It is below one because the times of two runs differ
# slightly, and a run must not end before its fault.
_UP_TO = 0.98
# Data of the last seconds may not have reached the disk when the power fails.
_UNWRITTEN_S = 5.0
# Names of unfinished files of a dead writer, and of the training's hits, which are removed after their use.
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
    """Disturb a run at each moment of the plan, and let it end; pause after each fault."""
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
    """Apply a fault to a run; return its immediate outcome, and whether that is right."""
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
    """Wait until a run has reached a moment and a job is running; return its progress, or None if it ended.

    A running job counts with the fraction of its undisturbed processor time that it has used.
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
    """Empty the files that a power cut may lose, because no sync was requested; return their number."""
    # This file is left between its writing and its renaming.
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
