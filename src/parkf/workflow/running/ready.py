"""A process that is ready for the jobs of a run on this machine: it has imported what they import.

Each job is a command of parkf. Python would start anew for each of them, and import NumPy, Arrow, SymPy and
the package again, which takes .4 to 1 s. Instead, one process starts (:func:`serve`), and each job is a fork
of it. The shell of a job only asks for the fork (:mod:`parkf.workflow.running.ask`).

Nothing lists what to import: a job tells which modules it had to import itself, and the process imports them
for the jobs that follow.
"""

import atexit
import gc
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from select import select
from shlex import join

from parkf.io.process_settings import prepare_process
from parkf.workflow.running import ask

_MOST_BYTES = 1 << 16


@cache
def shell_function() -> str:
    """Start a process that is ready for jobs; return ``parkf``, a shell's function that asks it.

    The process ends when this one ends, which closes a pipe between them. Where TMPDIR has no room for a
    socket, as its path is too long, there is no function, and jobs start by themselves.
    """
    place = Path(tempfile.mkdtemp(prefix="parkf-"), "jobs")
    with socket.socket(socket.AF_UNIX) as listening:
        try:
            listening.bind(str(place))
        except OSError:
            place.parent.rmdir()
            return ""
        # From now on jobs can ask; they wait until the process answers.
        listening.listen()
        number = listening.fileno()
        words = [sys.executable, "-m", __name__, str(number)]
        begin, _ = os.pipe()
        subprocess.Popen(words, stdin=begin, stdout=subprocess.DEVNULL, pass_fds=[number])
        os.close(begin)
    asking = join([sys.executable, "-I", "-S", ask.__file__, str(place)])
    # Snakemake would read braces as the names of variables.
    return f'parkf() ( {asking} "$@" ); '


def serve(listening: socket.socket, main: Callable[[], None]) -> None:
    """Fork for each job that asks, run `main` there, and send its exit code.

    This goes on until the standard input is closed.
    """
    jobs: dict[int, socket.socket] = {}
    modules: deque[str] = deque()
    told, tell = socket.socketpair(type=socket.SOCK_DGRAM)
    ended, end = socket.socketpair()
    for one in (tell, end):
        one.setblocking(False)
    signal.set_wakeup_fd(end.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    # A terminal interrupts the jobs, too, and they end by themselves.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        # What exists now is no garbage, and a search for it would copy the memory that forks share.
        gc.freeze()
        ready, _, _ = select([sys.stdin, listening, ended, told], [], [], 0 if modules else None)
        if sys.stdin in ready:
            shutil.rmtree(Path(listening.getsockname()).parent)
            return
        if ended in ready:
            ended.recv(_MOST_BYTES)
            for number, code in _ended():
                with jobs.pop(number) as connection, suppress(OSError):
                    connection.send(str(code).encode())
        elif listening in ready:
            connection, _ = listening.accept()
            if not (number := os.fork()):
                break
            jobs[number] = connection
        elif told in ready:
            modules.extend(told.recv(_MOST_BYTES).decode().split())
        else:
            # Some modules cannot be imported by their names.
            with suppress(Exception):
                import_module(modules.popleft())
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    known = set(sys.modules)
    _take_over(connection)
    code = _code_of(main)
    with suppress(OSError):
        tell.send(" ".join(name for name in sys.modules if name not in known).encode())
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    # Python's own end would take all modules to pieces, for 0.05 s.
    os._exit(code)


def _ended() -> Iterator[tuple[int, int]]:
    """Yield the children that have ended, with their exit codes as a shell has them."""
    with suppress(ChildProcessError):
        while (one := os.waitpid(-1, os.WNOHANG))[0]:
            code = os.waitstatus_to_exitcode(one[1])
            yield one[0], code if code >= 0 else 128 - code


def _code_of(main: Callable[[], None]) -> int:
    """Run a program and return its exit code."""
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else end.code is not None
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _take_over(connection: socket.socket) -> None:
    """Take words, environment, folder and outputs of the process that asks."""
    text, outputs, _, _ = socket.recv_fds(connection, _MOST_BYTES, 2)
    text += b"".join(iter(lambda: connection.recv(_MOST_BYTES), b""))
    connection.close()
    request = json.loads(text)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["parkf", *request["words"]]
    for place, number in enumerate((os.open(os.devnull, os.O_RDONLY), *outputs)):
        os.dup2(number, place)
        os.close(number)


if __name__ == "__main__":
    prepare_process()
    parkf = import_module("parkf.cli.main")
    parkf.program(parkf.app)
    serve(socket.socket(fileno=int(sys.argv[1])), parkf.main)
