"""Runs that are killed at moments spread over all work: each goes on where the one before was ended.

The moments are equal shares of the processor time that the undisturbed run took, so that a stage is met as
often as it works long, whatever else the machine does. After each kill the files that are finished must be
the undisturbed ones; in the end all of them, with nothing left over.
"""

import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Mapping

from benchmarks.faults.cases import Case, Journal
from benchmarks.faults.project import Ended, Project, command, jobs, processor_time, wait_until_gone

_GROUP = {"kill": signal.SIGKILL, "interrupt": signal.SIGINT, "terminate": signal.SIGTERM}
_WORKER, _SECOND = "worker killed", "second run"
_LOOK_S = 0.02
# What a dead writer has not finished has a name of its own; hits of the training go when they were used.
_TRANSIENT = re.compile(r"(^|/)\.|^hits/training")


def plan(seed: int, kills: int, others: int) -> list[str]:
    """Give what is done at each moment, in a random order."""
    kinds = ["kill"] * kills + [
        kind for kind in (*_GROUP, _WORKER, _SECOND) if kind != "kill" for _ in range(others)
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
        moment = total * (number + 0.5) / len(kinds)
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
            os.killpg(run.pid, _GROUP[kind])
            ended, outcome = project.end(run), ""
            good = ended.code != 0
        wait_until_gone(run.pid)
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


def _wait_for(
    project: Project, run: "subprocess.Popen[bytes]", work: Mapping[str, float], moment: float
) -> str | None:
    """Wait until a run has done so many seconds of work and has a job; name the job. None: it has ended."""
    while run.poll() is None:
        here = jobs(run)
        if here:
            done = project.work()
            finished = sum(seconds for name, seconds in work.items() if name in done)
            if finished + processor_time(here) >= moment:
                return command(here[0])
        time.sleep(_LOOK_S)
    return None


def _wrong_end(ended: Ended) -> str:
    return f"the run ended by itself, code {ended.code}: {ended.lines('rror')}"
