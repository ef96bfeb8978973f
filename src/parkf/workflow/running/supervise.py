"""Leading a run: lock its folder, remove leftovers of a killed run, and make damaged files again."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil
from rich.console import Console

from parkf.io.files import remove_unfinished
from parkf.io.terminal import is_quiet, say, shortened
from parkf.workflow.running import progress
from parkf.workflow.running.damage import remove_damaged
from parkf.workflow.running.lock import (
    VARIABLE,
    end_orphans,
    held,
    is_live,
    run_processes,
    wait_for_end,
)
from parkf.workflow.running.repair import Repair, repair

# Number of attempts to make damaged files again; if files are damaged even then, the disk is faulty.
_ATTEMPTS = 3
# Free space of a disk in bytes; a log never needs more.
_NO_ROOM = 1 << 20
# File for Snakemake's output; pattern of errors in it; and how many characters of them are shown.
_OUTPUT = Path("logs/snakemake.txt")
_WRONG = re.compile(r"^.*(?:Error|Exception|error:)", re.MULTILINE)
_LONGEST = 6000
# Lines of an error that are shown off a terminal.
_MOST_LINES = 30
SETTINGS = {"PYTHONWARNINGS": "ignore::UserWarning:htcondor2", "PYTHONDONTWRITEBYTECODE": ""}
"""Environment of Snakemake and its jobs. Plugins warn that a scheduler is not configured even if it is not
used. Without bytecode, each job would compile what it imports, for one to three seconds."""
# Times in s: from the signal that ends a run to SIGTERM for its jobs, which an interrupt from a terminal
# reaches, too; from SIGTERM to SIGKILL; and for the workflow to record the outcome of its jobs after their
# end. After SIGTERM, four of ten seconds are left for what a busy machine delays.
_AFTER_SIGNAL_S = {signal.SIGINT: 3.0, signal.SIGTERM: 1.0}
_AFTER_SIGTERM_S, _WITHOUT_JOB_S = 2.0, 3.0
_STEP_S = 0.1


def supervise(folder: Path, command: Sequence[str]) -> int:
    """Run a workflow that writes to a folder, and return its exit code.

    `folder` is ``results/<run>``, relative to where Snakemake runs; `command` is Snakemake with its
    arguments, including ``--nolock``. If another run is active in the folder, a ParkfError is raised.
    """
    with held(folder) as (lock, before):
        if before:
            _say(f"{folder}: {before} was ended before its run was; going on from what it had finished")
        if orphans := end_orphans(folder):
            _say(f"{folder}: ended {len(orphans)} of its jobs that were still at work")
        remove_unfinished(folder)
        targets = command[command.index("--") + 1 :] if "--" in command else []
        # Snakemake chooses jobs by times, so it would read the file of another run in the place of its own.
        named = set()
        for problem in repair(folder, targets).named:
            named.add(problem.partition(":")[0])
            _say(problem)
        guard = _guard(folder, lock)
        endings: list[threading.Thread] = []
        words = list(command)
        for _ in range(_ATTEMPTS):
            code = _run(words, folder, lock, endings)
            damaged = list(remove_damaged(folder).values()) if code else []
            found = repair(folder, targets) if not code else Repair([], [], [])
            for problem in (*damaged, *found.named, *found.left):
                if problem.partition(":")[0] not in named:
                    _say(problem)
            if endings or not (damaged or found.options):
                break
            words = [*command[: len(command) - len(targets) - bool(targets)], *found.options]
            words += ["--", *targets] if targets else []
        else:
            _say(f"error: {folder}: the same files are not right after {_ATTEMPTS} attempts")
            code = code or 1
        os.write(guard, b".")
        os.close(guard)
        if code and (free := shutil.disk_usage(folder).free) < _NO_ROOM:
            # If the disk is full, the log may lack the job's own message.
            _say(
                f"error: {folder}: no space left, {free / 1e6:.1f} MB are free; make room there, and start"
                " again"
            )
    return code


def _guard(folder: Path, lock: int) -> int:
    """Start a process that kills the run's processes when this one dies; a byte to the returned pipe ends it.

    The guard is no child of this process, has a session of its own, and does not hold the lock.
    """
    begin, end = os.pipe()
    if child := os.fork():
        os.close(begin)
        os.waitpid(child, 0)
        return end
    try:
        # Closed here, and so before this function returns: a run that follows at once could find it locked.
        os.close(lock)
        if not os.fork():
            os.setsid()
            os.close(end)
            while not os.read(begin, 1) and (left := list(run_processes(folder))):
                for process in left:
                    with suppress(psutil.NoSuchProcess):
                        process.kill()
    finally:
        os._exit(0)


def _run(command: Sequence[str], folder: Path, lock: int, endings: list[threading.Thread]) -> int:
    """Run a workflow and show its progress; its output goes to a file, and errors in the output are shown.

    SIGINT and SIGTERM end the workflow and its jobs, in a thread that is added to `endings`.
    """
    output = folder / _OUTPUT
    output.parent.mkdir(parents=True, exist_ok=True)
    console = Console(stderr=True, quiet=is_quiet())
    if not (console.is_terminal or is_quiet()):
        _say(f"{folder}: Snakemake's text goes to {output}")
    begin, end = os.pipe()
    environment = {VARIABLE: str(folder.resolve()), progress.VARIABLE: str(end), **SETTINGS}
    with (
        output.open("w") as file,
        # The workflow inherits the lock, in case only this process is killed.
        subprocess.Popen(
            command, pass_fds=[lock, end], env=os.environ | environment, stdout=file, stderr=subprocess.STDOUT
        ) as process,
    ):
        os.close(end)

        def pass_on(sign: int, _: object) -> None:
            # The terminal itself sends an interrupt to the workflow and its jobs.
            if sign == signal.SIGTERM:
                process.terminate()
            if not endings:
                endings.append(threading.Thread(target=_end, args=(process, signal.Signals(sign))))
                endings[0].start()

        signal.signal(signal.SIGINT, pass_on)
        signal.signal(signal.SIGTERM, pass_on)
        with os.fdopen(begin) as pipe:
            progress.show(str(folder), console, pipe)
        code = process.wait()
        for ending in endings:
            ending.join()
    if code:
        text = output.read_text(errors="replace")
        wrong = _WRONG.search(text)
        shown = text[wrong.start() if wrong else 0 :][-_LONGEST:].strip()
        _say(f"{shown if console.is_terminal else _brief(shown)}\nthe whole output is in {output}")
    return code if code >= 0 else 128 - code


def _brief(text: str) -> str:
    """Shorten an error: its first lines, of which only those of commands may be long."""
    lines = [line if "error:" in line else shortened(line) for line in text.splitlines() if line.strip()]
    return "\n".join(lines[:_MOST_LINES])


def _end(process: subprocess.Popen[bytes], sign: signal.Signals) -> None:
    """End the jobs of a workflow that received a signal, then the workflow, within 10 s.

    A program that is still starting can lose an interrupt, and Snakemake waits for its jobs. Snakemake's own
    handler of SIGTERM waits for a lock, which the interrupted code may hold. Processes that Snakemake starts
    after the signal are not ended, because they cancel the jobs of a cluster.
    """
    jobs = _descendants(process.pid)
    actions = {psutil.Process.terminate: _AFTER_SIGNAL_S[sign], psutil.Process.kill: _AFTER_SIGTERM_S}
    for action, patience_s in actions.items():
        alive = wait_for_end(jobs, patience_s)
        if alive and process.poll() is None:
            # The workflow must not start further jobs.
            process.terminate()
        jobs = {job for one in alive for job in (one, *_descendants(one.pid))}
        for job in jobs:
            with suppress(psutil.NoSuchProcess):
                action(job)
    idle_s = 0.0
    while process.poll() is None and idle_s < _WITHOUT_JOB_S:
        time.sleep(_STEP_S)
        idle_s = 0.0 if _descendants(process.pid) else idle_s + _STEP_S
    if process.poll() is None:
        _say(
            f"the workflow, process {process.pid}, was told to end, and did not for {_WITHOUT_JOB_S:.0f} s"
            " without a job; killed"
        )
        process.kill()


def _descendants(number: int) -> set[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        return {one for one in psutil.Process(number).children(recursive=True) if is_live(one)}
    return set()


def _say(text: str) -> None:
    say(text, file=sys.stderr, flush=True)
