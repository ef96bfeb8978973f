"""A process that is ready for the stages of a run on this machine: it has imported what they import.

Python would start anew for each stage, and import NumPy, Arrow, SymPy and the package again, which takes .4
to 2 s: a fifth of the processor's time of an everyday run. Instead one process starts (:func:`start`), and
each stage is a fork of it. ``python -m parkf.stages`` only asks for the fork (:func:`ask`), and runs the
stage by itself where nobody is ready.

Nothing lists what to import: a fork tells which modules it had to import itself, and the process imports them
for the stages that follow.
"""

import atexit
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import traceback
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from select import select

VARIABLE = "PARKF_READY"
READY = "--ready"
"""Word of the command line, before the number of the socket, with which ``parkf.stages`` serves."""
_ALLOCATION = "SLURM_JOB_ID"
_MOST_BYTES = 1 << 16


def ask(words: list[str]) -> int | None:
    """Let the process that is ready run a stage, and return the exit code; None if nobody is ready."""
    place, _, allocation = os.environ.get(VARIABLE, "").partition("@")
    # A job of a cluster has cores and memory of its own, also on the machine of the run's leader.
    if allocation != os.environ.get(_ALLOCATION, ""):
        return None
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(place)
        except OSError:
            return None
        request = json.dumps({"words": words, "environment": dict(os.environ), "folder": str(Path.cwd())})
        # JSON may begin with a blank, and descriptors need a byte to go with.
        socket.send_fds(connection, [b" "], [sys.stdout.fileno(), sys.stderr.fileno()])
        connection.sendall(request.encode() + b"\n")
        answer = connection.recv(16)
    if not answer:
        sys.stderr.write("error: the process that was ready for stages has ended: start the run again\n")
    return int(answer) if answer else 1


def start() -> None:
    """Start a process that is ready for stages until this one ends, which closes a pipe between them."""
    from parkf.io.files import scratch_folder

    if VARIABLE in os.environ:
        return
    folder = scratch_folder()
    atexit.register(folder.cleanup)
    place = str(Path(folder.name, "stages"))
    with socket.socket(socket.AF_UNIX) as listening:
        try:
            listening.bind(place)
        except OSError:
            # The path of TMPDIR is too long for a socket: stages start by themselves.
            return
        # From now on stages can ask; they wait until the process answers.
        listening.listen()
        begin, _ = os.pipe()
        words = [sys.executable, "-P", "-m", __package__, READY, str(listening.fileno())]
        subprocess.Popen(words, stdin=begin, stdout=subprocess.DEVNULL, pass_fds=[listening.fileno()])
        os.close(begin)
    os.environ[VARIABLE] = f"{place}@{os.environ.get(_ALLOCATION, '')}"


def serve(listening: socket.socket, run: Callable[[list[str]], int]) -> None:
    """Fork for each stage that asks, `run` its words there, and send the exit code.

    This goes on until the standard input is closed. A fork ends with the process that has asked for it.
    """
    jobs: dict[int, socket.socket] = {}
    modules: deque[str] = deque()
    told, tell = socket.socketpair(type=socket.SOCK_DGRAM)
    ended, end = socket.socketpair()
    for one in (tell, end):
        one.setblocking(False)
    signal.set_wakeup_fd(end.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    # A terminal interrupts the forks, too, and they end by themselves.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        # What exists now is no garbage, and a search for it would copy the memory that forks share.
        gc.freeze()
        sources = [sys.stdin, listening, ended, told, *jobs.values()]
        ready, _, _ = select(sources, [], [], 0 if modules else None)
        for number, connection in list(jobs.items()):
            # What a fork has not read yet is no end.
            with suppress(BlockingIOError):
                if connection in ready and not connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT):
                    os.kill(number, signal.SIGKILL)
        if sys.stdin in ready:
            for number in jobs:
                os.kill(number, signal.SIGKILL)
            return
        if ended in ready:
            ended.recv(_MOST_BYTES)
            _answer(jobs)
        elif listening in ready:
            connection, _ = listening.accept()
            if not (number := os.fork()):
                break
            jobs[number] = connection
        elif told in ready:
            modules.extend(told.recv(_MOST_BYTES).decode().split())
        elif modules:
            # Some modules cannot be imported by their names.
            with suppress(Exception):
                import_module(modules.popleft())
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    known = set(sys.modules)
    code = _code_of(run, _take_over(connection))
    with suppress(OSError):
        tell.send(" ".join(name for name in sys.modules if name not in known).encode())
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    # Python's own end would take all modules to pieces, for 0.05 s.
    os._exit(code)


def _answer(jobs: dict[int, socket.socket]) -> None:
    """Send the exit codes of forks that have ended, as a shell has them."""
    with suppress(ChildProcessError):
        while (one := os.waitpid(-1, os.WNOHANG))[0]:
            code = os.waitstatus_to_exitcode(one[1])
            with jobs.pop(one[0]) as connection, suppress(OSError):
                connection.send(str(code if code >= 0 else 128 - code).encode())


def _code_of(run: Callable[[list[str]], int], words: list[str]) -> int:
    try:
        return run(words)
    except KeyboardInterrupt:
        return 130
    except BaseException:
        traceback.print_exc()
        return 1


def _take_over(connection: socket.socket) -> list[str]:
    """Take environment, folder and outputs of the process that asks, and return its words."""
    text, outputs, _, _ = socket.recv_fds(connection, _MOST_BYTES, 2)
    while not text.endswith(b"\n"):
        text += connection.recv(_MOST_BYTES)
    request = json.loads(text)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    for place, number in enumerate((os.open(os.devnull, os.O_RDONLY), *outputs)):
        os.dup2(number, place)
        os.close(number)
    words: list[str] = request["words"]
    return words
