"""A lock that lets one run at a time work in a folder."""

import fcntl
import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

import psutil

from parkf.io.errors import ParkfError
from parkf.workflow.running.leftovers import run_processes

LOCK = ".lock"


@contextmanager
def held(folder: Path) -> Iterator[tuple[int, str | None]]:
    """Hold the lock of a run's folder, which is made if it is missing.

    The lock is the system's lock on a file. The system releases it when the last process that has the file
    open ends, for whatever reason. The content of the file is for people only.

    Yields the open file, with which a child inherits the lock, and the process that held the lock before and
    was killed, or None. Raises a ParkfError that names the live process which holds it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            who = _holder(folder, file)
            raise ParkfError(
                f"{folder}: {who} is at work here; wait until that run has ended, or stop it"
            ) from error
        before = _said(file)
        _say(file, f"process {os.getpid()} on {socket.gethostname()} since {datetime.now(UTC):%F %T} UTC")
        yield file.fileno(), before
        _say(file, "")


def _holder(folder: Path, file: TextIO) -> str:
    """Name the live processes that hold the lock: the leader of a run, or processes that outlived it."""
    who = _said(file) or "somebody"
    here = re.match(rf"process (\d+) on {re.escape(socket.gethostname())} ", who)
    if here is None or _is_alive(int(here[1])):
        return who
    alive = ", ".join(f"process {process.pid}" for process in run_processes(folder))
    return f"{alive or 'a process'}, of the run that {who} began and did not end,"


def _is_alive(number: int) -> bool:
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(number).status() != psutil.STATUS_ZOMBIE
    return False


def _said(file: TextIO) -> str | None:
    file.seek(0)
    return file.read().strip() or None


def _say(file: TextIO, text: str) -> None:
    file.seek(0)
    file.truncate()
    file.write(text)
    file.flush()
