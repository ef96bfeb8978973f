"""Leads a run to its end: alone in its folder, after removing leftovers of a killed run and damaged files."""

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

from parkf.io.terminal import is_quiet
from parkf.workflow.running import progress
from parkf.workflow.running.damage import remove_damaged
from parkf.workflow.running.leftovers import VARIABLE, end_orphans, remove_unfinished
from parkf.workflow.running.lock import held

# Number of times that damaged files are made again; if they are still damaged then, the disk is faulty.
_ATTEMPTS = 3
# Bytes; a log never needs more.
_NO_ROOM = 1 << 20
# File for Snakemake's output; pattern of errors in it; and how many characters of them are shown.
_SAID = Path("logs/snakemake.txt")
_WRONG = re.compile(r"^.*(?:Error|Exception|error:)", re.MULTILINE)
_LONGEST = 6000
# Plugins for schedulers that are installed and not used warn that these are not configured.
_UNUSED = "ignore::UserWarning:htcondor2"
# Time that a workflow may need after SIGTERM and without a job, s: it records the outcome of its jobs.
_PATIENCE_S = 15


def supervise(folder: Path, command: Sequence[str]) -> int:
    """Run a workflow that writes to a folder, and return its exit code.

    Parameters
    ----------
    folder : Path
        ``results/<run>``, relative to where Snakemake runs.
    command : sequence of str
        Snakemake with its arguments; it is not to lock by itself.

    Raises
    ------
    ParkfError
        When another run is at work in the folder.
    """
    with held(folder) as (lock, before):
        if before:
            _say(f"{folder}: {before} was ended before its run was; going on from what it had finished")
        if orphans := end_orphans(folder):
            _say(f"{folder}: ended {len(orphans)} of its jobs that were still at work")
        remove_unfinished(folder)
        for _ in range(_ATTEMPTS):
            code = _run(command, folder, lock)
            damaged = remove_damaged(folder) if code else {}
            for said in damaged.values():
                _say(said)
            if not damaged:
                break
        if code and (free := shutil.disk_usage(folder).free) < _NO_ROOM:
            # A full disk may have left no room for the job's own message in its log.
            free_mb = free / 1e6
            _say(
                f"error: {folder}: no space left, {free_mb:.1f} MB are free; make room there, and start again"
            )
    return code


def _run(command: Sequence[str], folder: Path, lock: int) -> int:
    """Run a workflow and show how far it is; its own text goes to a file, of which errors are shown."""
    said = folder / _SAID
    said.parent.mkdir(parents=True, exist_ok=True)
    console = Console(stderr=True, quiet=is_quiet())
    if not (console.is_terminal or is_quiet()):
        _say(f"{folder}: Snakemake's text goes to {said}")
    told, end = os.pipe()
    environment = {VARIABLE: str(folder.resolve()), progress.VARIABLE: str(end), "PYTHONWARNINGS": _UNUSED}
    with (
        said.open("w") as file,
        # The workflow inherits the lock, in case this process is killed and the workflow is not.
        subprocess.Popen(
            command,
            pass_fds=[lock, end],
            env=os.environ | environment,
            stdout=file,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        os.close(end)
        _pass_signals(process)
        with os.fdopen(told) as pipe, progress.Shower(str(folder), console) as shower:
            shower.read(pipe)
        code = process.wait()
    if code:
        text = said.read_text(errors="replace")
        wrong = _WRONG.search(text)
        _say(f"{text[wrong.start() if wrong else 0 :][-_LONGEST:].strip()}\nthe whole output is in {said}")
    return code if code >= 0 else 128 - code


def _pass_signals(process: subprocess.Popen[bytes]) -> None:
    def interrupted(*_: object) -> None:
        # An interrupt of the terminal reaches the workflow by itself; it ends its jobs first.
        threading.Thread(target=_end, args=(process,), daemon=True).start()

    def terminated(*_: object) -> None:
        process.terminate()
        interrupted()

    signal.signal(signal.SIGINT, interrupted)
    signal.signal(signal.SIGTERM, terminated)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a workflow that got SIGTERM, has no job left, and does not end.

    Snakemake's own handler waits for a lock, which the code that the signal interrupted may hold.
    """
    idle_s = 0
    while process.poll() is None and idle_s < _PATIENCE_S:
        time.sleep(1)
        with suppress(psutil.NoSuchProcess):
            idle_s = 0 if psutil.Process(process.pid).children() else idle_s + 1
    if process.poll() is None:
        _say(f"the workflow was told to end, and did not for {_PATIENCE_S} s without a job; killed")
        process.kill()


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
