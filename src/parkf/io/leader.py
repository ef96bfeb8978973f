"""End of a process with its leader: a killed run leaves none of its processes behind.

The process that leads a run names itself in the environment. Each process of the run watches the leader, and
kills itself and what it has started as soon as the leader has ended, however that was.
"""

import os
import select
import signal
import socket
import threading
import time
from contextlib import suppress

import psutil

VARIABLE = "PARKF_LEADER"
_STEP_S = 0.2


def lead() -> None:
    """Be the leader of all processes that this one starts from now on."""
    os.environ[VARIABLE] = f"{os.getpid()}@{socket.gethostname()}"


def follow() -> None:
    """Let this process end with its leader, if it has one on this machine."""
    number, _, host = os.environ.get(VARIABLE, "").partition("@")
    # Jobs of a cluster run on other machines; its scheduler ends them.
    if number and host == socket.gethostname() and int(number) != os.getpid():
        threading.Thread(target=_wait_and_end, args=(int(number),), daemon=True).start()


def _wait_and_end(leader: int) -> None:
    _wait(leader)
    started = psutil.Process().children(recursive=True)
    for process in started:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    os.kill(os.getpid(), signal.SIGKILL)


def _wait(leader: int) -> None:
    """Wait for the end of a process that is no child of this one."""
    try:
        watched = os.pidfd_open(leader)
    except ProcessLookupError:
        return
    except (AttributeError, OSError):
        # Only Linux tells of the end of another's child.
        while psutil.pid_exists(leader):
            time.sleep(_STEP_S)
        return
    select.select([watched], [], [])
