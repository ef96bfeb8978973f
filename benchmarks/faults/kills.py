"""Runs that are killed at moments spread over all work: each goes on where the one before was ended.

The moments are equal shares of the processor time that the undisturbed run took, so that a stage is met as
often as it works long, whatever else the machine does. After each kill the files that are finished must be
the undisturbed ones; in the end all of them, with nothing left over.
"""

import os
import random
import re
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.faults.cases import Case, Journal
from benchmarks.faults.forked import Forked
from benchmarks.faults.project import Ended, Project, command, jobs, processor_time, wait_until_gone

_GROUP = {"kill": signal.SIGKILL, "interrupt": signal.SIGINT, "terminate": signal.SIGTERM}
_WORKER, _SECOND, _POWER = "worker killed", "second run", "power cut"
_LOOK_S = 0.05
# A share of all work: figures of two runs differ by a little, and none is to end before it is met.
_UP_TO = 0.98
# What a disk may not have taken when the power goes.
_UNWRITTEN_S = 5.0
# What a dead writer has not finished has a name of its own; hits of the training go when they were used.
_TRANSIENT = re.compile(r"(^|/)\.|^hits/training")


def plan(seed: int, kills: int, others: int) -> list[str]:
    """Give what is done at each moment, in a random order."""
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
) -> None:
    """Disturb a run at each moment of the plan, and let it end."""
    total = sum(work.values())
    names = [f"{kind} {number} of {len(kinds)}" for number, kind in enumerate(kinds, start=1)]
    for number, (kind, name) in enumerate(zip(kinds, names, strict=True)):
        if name in journal:
            continue
        moment = _UP_TO * total * (number + 0.5) / len(kinds)
        run = project.start()
        at = _wait_for(project, run, work, moment)
        if at is None:
            journal.add(Case(kind, name, _wrong_end(project.end(run)), survived=False))
            continue
        if kind == _SECOND:
            second = project.end(project.start(said="second"), said="second")
            outcome = second.lines("at work here")
            ended, good = None, second.code == 1 and second.clear and run.poll() is None
            os.killpg(run.pid, signal.SIGKILL)
        elif kind == _WORKER:
            for worker in jobs(run)[:1]:
                worker.kill()
            ended, outcome = project.end(run), ""
            good = ended.code != 0
        else:
            os.killpg(run.pid, _GROUP.get(kind, signal.SIGKILL))
            ended, outcome = project.end(run), ""
            good = ended.code != 0
        wait_until_gone(run.pid)
        if kind == _POWER:
            outcome = f"{_lose_unwritten(project)} records of Snakemake were lost"
        wrong = [
            n
            for n, content in project.files().items()
            if not _TRANSIENT.search(n) and undisturbed.get(n) != content
        ]
        outcome = ", ".join(
            [f"during {at}", *([outcome] if outcome else []), *(f"{n} differs" for n in wrong)]
        )
        journal.add(Case(kind, name, outcome, good and not wrong))
    end = project.run()
    made = project.files()
    differ = sorted({n for n in {*made, *undisturbed} if made.get(n) != undisturbed.get(n)})
    said = (
        "all files are the undisturbed ones" if not differ and end.code == 0 else f"code {end.code}: {differ}"
    )
    if "end of the run" not in journal:
        journal.add(Case("end", "end of the run", said, end.code == 0 and not differ))


def _wait_for(project: Project, run: Forked, work: Mapping[str, float], moment: float) -> str | None:
    """Wait until a run has done so many seconds of work and has a job; name the job. None: it has ended."""
    before: set[int] = set()
    finished = 0.0
    while run.poll() is None:
        here = jobs(run)
        if here:
            now = {job.pid for job in here}
            if now != before:
                done = project.work()
                finished, before = sum(seconds for name, seconds in work.items() if name in done), now
            if finished + processor_time(here) >= moment:
                return command(here[0])
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
