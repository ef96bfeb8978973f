"""A process that outlives the tests, and ends what they have started: daemons of Slurm, servers, runs.

It waits for the end of the tests' process, however that comes, and knows what that has started by a variable
of its environment, which daemons have, too.
"""

import os
import subprocess
import sys

VARIABLE = "PARKF_TESTS"
_PROGRAM = """
import os, signal, sys, time

def started():
    for pid in filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc") else ()):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if sys.argv[1].encode() in file.read().split(b"\\0"):
                    yield int(pid)
        except OSError:
            continue

sys.stdin.read()
for sign in (signal.SIGTERM, signal.SIGKILL):
    end = time.monotonic() + 5
    for pid in started():
        try:
            os.kill(pid, sign)
        except OSError:
            pass
    while any(started()) and time.monotonic() < end:
        time.sleep(0.1)
"""


def start_guard() -> subprocess.Popen:
    """Return the process; what this process starts from now on ends with this process at the latest."""
    mark = os.environ[VARIABLE] = str(os.getpid())
    command = [sys.executable, "-I", "-S", "-c", _PROGRAM, f"{VARIABLE}={mark}"]
    # Ctrl-C goes to a whole session of processes, and its own environment has no mark.
    return subprocess.Popen(command, stdin=subprocess.PIPE, env={}, start_new_session=True)
