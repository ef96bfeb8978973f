"""Leads a run to its end: alone in its folder, past what a dead one left behind, past damaged files."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from parkf.running.damage import remove_damaged
from parkf.running.leftovers import VARIABLE, end_orphans, remove_unfinished
from parkf.running.lock import held

# As often damaged files are made again: where they do not stay sound, the disk is not.
_ATTEMPTS = 3
# Bytes; no log needs more.
_NO_ROOM = 1 << 20


def supervise(folder: Path, command: Sequence[str]) -> int:
    """Run a workflow that writes to a folder, and give its exit code.

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
            # The job's own words may not have found room in its log.
            free_mb = free / 1e6
            _say(
                f"error: {folder}: no space left, {free_mb:.1f} MB are free; make room there, and start again"
            )
    return code


def _run(command: Sequence[str], folder: Path, lock: int) -> int:
    # The workflow holds the lock itself, should this process be killed and it not.
    environment = os.environ | {VARIABLE: str(folder.resolve())}
    with subprocess.Popen(command, pass_fds=[lock], env=environment) as process:
        # An interrupt of the terminal reaches the workflow by itself; it ends its jobs first.
        signal.signal(signal.SIGINT, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        code = process.wait()
    return code if code >= 0 else 128 - code


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
