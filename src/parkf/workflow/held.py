"""The folder of a run, which one process at a time leads."""

import fcntl
import os
import socket
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from parkf.io.errors import ParkfError
from parkf.io.files import remove_unfinished
from parkf.io.ledger import RESULTS

LOCK = ".leader"
HELD = "PARKF_HELD"
"""Names, in the environment, the folders that a process's parent holds already."""
# Processes of a killed run end at once, s.
_PATIENCE_S, _STEP_S = 3.0, 0.05
_held: list[TextIO] = []


def hold(folder: Path) -> int:
    """Hold a run's folder until this process and those that inherit the returned file have ended.

    The operating system locks a file, and frees it when its last process has ended, for any reason. What a
    killed run left unfinished is removed. A ParkfError names the live process that holds the folder.
    """
    if str(folder.absolute()) in os.environ.get(HELD, "").split(os.pathsep):
        return -1
    folder.mkdir(parents=True, exist_ok=True)
    file = (folder / LOCK).open("a+")
    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() > until:
                file.seek(0)
                who = file.read().strip() or "somebody"
                file.close()
                raise ParkfError(
                    f"{folder}: {who} is at work here; wait until that run has ended, or stop it"
                ) from None
            time.sleep(_STEP_S)
    file.truncate(0)
    file.write(f"process {os.getpid()} on {socket.gethostname()} since {datetime.now(UTC):%F %T} UTC\n")
    file.flush()
    _held.append(file)
    remove_unfinished(folder)
    remove_unfinished(RESULTS / ".store")
    return file.fileno()


def release() -> None:
    """Free all folders that this process holds."""
    while _held:
        _held.pop().close()
