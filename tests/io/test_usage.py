"""Reported time and memory of commands with threads or children, and of several commands in one log."""

import os
import resource
import subprocess
import sys
import time

import pytest

from parkf.io.usage import Meter, Usage, read_usage

BUSY = """
import os, sys, time
from parkf.io.usage import Meter
meter = Meter()
from parkf.io.workers import forked_map

def work(seconds):
    held = bytearray(os.urandom(1 << 20)) * 200
    while time.process_time() < seconds:
        pass
    return len(held)

if sys.argv[1] == "alone":
    work(0.4)
else:
    list(forked_map(work, [0.4] * 4, workers=2))
meter.report()
"""


def told(*arguments, ask="1"):
    done = subprocess.run(
        [sys.executable, "-c", BUSY, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={"PARKF_USAGE": ask},
    )
    return done.stderr


def test_children_count():
    alone, shared = (read_usage(told(how)) for how in ("alone", "children"))
    # Four times 0.4 s, plus the time that each program needs to begin.
    assert shared.cpu_s - alone.cpu_s > 1.0
    assert alone.wall_s > 0.2
    assert alone.ended - alone.began == pytest.approx(alone.wall_s, abs=0.01)
    assert alone.ended <= shared.began
    # Each of two concurrent children uses 200 MiB; the process itself uses none.
    assert 200 < alone.peak_mb < 400
    assert 400 < shared.peak_mb < 700


def test_a_log_has_milliseconds_and_tenths_of_a_mebibyte():
    meter = Meter()
    for _ in range(20):
        used = meter.usage()
        for seconds in (used.wall_s, used.cpu_s, used.began, used.ended):
            assert seconds == round(seconds, 3)
        assert used.peak_mb == round(used.peak_mb, 1)


def test_nothing_is_said_unless_asked():
    assert told("alone", ask="") == ""


def test_a_failing_command_says_it_too():
    done = subprocess.run(
        [sys.executable, "-m", "parkf.cli", "check-dataset", "X", "x.parquet"],
        capture_output=True,
        text=True,
        check=False,
        env={"PARKF_USAGE": "1"},
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error: no step 'X'")
    assert read_usage(done.stderr).cpu_s > 0


def test_commands_of_one_job_are_added_up():
    line = 'parkf usage: {"wall_s": 2.0, "cpu_s": 1.5, "peak_mb": %d}\n'
    log = f"simulate: seed 3\n{line % 300}warning: none\n{line % 200}"
    assert read_usage(log) == Usage(wall_s=4.0, cpu_s=3.0, peak_mb=300)
    assert read_usage("a log of another program\n") is None


@pytest.mark.parametrize("text", ["parkf usage: lost", "# parkf usage: {}"])
def test_what_only_looks_like_it_is_passed_over(text):
    assert read_usage(text) is None


def test_memory_is_that_of_the_process_and_of_its_largest_child():
    meter = Meter()
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    who = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    expected = sum(resource.getrusage(one).ru_maxrss for one in who) / 1024
    # What this process inherited from the one that started it may be in the kernel's number.
    assert 0.5 * expected < meter.usage().peak_mb < 1.05 * expected


def test_time_is_counted_from_when_the_meter_is_made():
    before, began = time.perf_counter(), time.time()
    meter = Meter()
    used = meter.usage()
    assert 0 <= used.wall_s <= time.perf_counter() - before + 0.001
    assert began - 0.001 <= used.began <= used.ended <= time.time() + 0.001
