"""Nothing that the tests have started outlives them."""

import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

# A daemon, in a session of its own.
PROGRAM = """
import subprocess, time
from tests.guard import start_guard
guard = start_guard()
print(guard.pid, subprocess.Popen(["sleep", "600"], start_new_session=True).pid, flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc")
@pytest.mark.parametrize("how", ["terminate", "kill"])
def test_a_daemon_ends_with_the_tests(how):
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, text=True
    ) as tests:
        pids = [int(word) for word in tests.stdout.readline().split()]
        getattr(tests, how)()
    end = time.monotonic() + 20
    while any(psutil.pid_exists(pid) for pid in pids) and time.monotonic() < end:
        time.sleep(0.1)
    assert [pid for pid in pids if psutil.pid_exists(pid)] == []
