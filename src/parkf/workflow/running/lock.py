"""The lock that allows one run at a time in a folder, and the processes of a killed run there."""

import fcntl
import os
import re
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

import psutil

from parkf.io.errors import ParkfError

LOCK = ".lock"
VARIABLE = "PARKF_RUN"
"""Names the run's folder in the environment of all its jobs."""
_PATIENCE_S, _STEP_S = 10.0, 0.02


@contextmanager
def held(folder: Path) -> Iterator[tuple[int, str | None]]:
    """Hold the lock of a run's folder, which is made if it is missing.

    The operating system locks a file, and releases it when the last process with the open file has ended, for
    any reason. The content of the file only informs people.

    Yields the open file, which passes the lock on to a child, and the killed process that held the lock
    before, or None. Raises a ParkfError that names the live process with the lock.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            who = _holder(folder, _content(file))
            raise ParkfError(
                f"{folder}: {who} is at work here; wait until that run has ended, or stop it"
            ) from error
        before = _content(file)
        _write(file, f"process {os.getpid()} on {socket.gethostname()} since {datetime.now(UTC):%F %T} UTC")
        yield file.fileno(), before
        _write(file, "")


def _holder(folder: Path, named: str | None) -> str:
    """Name the live processes that hold the lock: the run's leader, or processes that outlived the leader."""
    who = named or "somebody"
    here = re.match(rf"process (\d+) on {re.escape(socket.gethostname())} ", who)
    if here is None:
        return who
    if is_live(int(here[1])):
        return who
    alive = ", ".join(f"process {process.pid}" for process in run_processes(folder))
    return f"{alive or 'a process'}, of the run that {who} began and did not end,"


def _content(file: TextIO) -> str | None:
    file.seek(0)
    return file.read().strip() or None


def _write(file: TextIO, text: str) -> None:
    file.seek(0)
    file.truncate()
    file.write(text)
    file.flush()


def run_processes(folder: Path) -> Iterator[psutil.Process]:
    """Iterate over the live processes of a run: its workflow and jobs, not this process or a parent."""
    own = {psutil.Process().pid, *(process.pid for process in psutil.Process().parents())}
    for process in psutil.process_iter():
        # The environment of another user's process cannot be read.
        with suppress(psutil.Error, OSError):
            if process.pid not in own and process.environ().get(VARIABLE) == str(folder.resolve()):
                yield process


def is_live(process: psutil.Process | int) -> bool:
    """Tell whether a process, given as such or by its number, is still at work.

    After its end, a process keeps its number until its parent asks for the exit code. Where the first process
    of a container does not ask, the number of an orphan stays for ever.
    """
    try:
        process = psutil.Process(process) if isinstance(process, int) else process
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_for_end(processes: Iterable[psutil.Process], patience_s: float) -> list[psutil.Process]:
    """Wait until processes have ended, at most for the given time in s, and return those that have not."""
    until = time.monotonic() + patience_s
    while (live := [one for one in processes if is_live(one)]) and time.monotonic() < until:
        time.sleep(_STEP_S)
    return live


def end_orphans(folder: Path) -> list[int]:
    """End the processes of a run whose lock the caller holds, and return their numbers."""
    orphans = alive = list(run_processes(folder))
    for action in (psutil.Process.terminate, psutil.Process.kill):
        for process in alive:
            with suppress(psutil.NoSuchProcess):
                action(process)
        alive = wait_for_end(alive, _PATIENCE_S)
    return [process.pid for process in orphans]
