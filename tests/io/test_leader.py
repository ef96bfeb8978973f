"""Processes of a run end with its leader, however that ends; others do not."""

import os
import subprocess
import sys
import time
from contextlib import contextmanager

import psutil
import pytest

from parkf.io import leader

# A leader, a process that follows it, a child of that, and a worker that was forked from it.
FOLLOWER = """
import multiprocessing, os, subprocess, sys, time
from parkf.io.leader import follow
follow()
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(120)"])
worker = multiprocessing.get_context("fork").Process(target=time.sleep, args=(120,))
worker.start()
print(os.getpid(), child.pid, worker.pid, flush=True)
time.sleep(120)
"""
LEADER = f"""
import subprocess, sys, time
from parkf.io.leader import lead
lead()
subprocess.Popen([sys.executable, "-c", {FOLLOWER!r}])
time.sleep(120)
"""
PATIENCE_S = 60


@contextmanager
def started(program, **environment):
    """Start a program; yield it, and the processes whose numbers it prints."""
    command = [sys.executable, "-c", program]
    environment = {**os.environ, **environment}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        found = [psutil.Process(int(number)) for number in process.stdout.readline().split()]
        try:
            yield process, found
        finally:
            for one in (process, *found):
                if one.poll() is None if one is process else one.is_running():
                    one.kill()


def test_all_processes_end_with_a_leader_that_is_killed():
    with started(LEADER) as (process, found):
        assert len(found) == 3
        process.kill()
        process.wait()
        _, alive = psutil.wait_procs(found, PATIENCE_S)
        assert alive == []


@pytest.mark.parametrize("who", ["", "{pid}@another-machine", "{self}"])
def test_without_a_leader_on_this_machine_a_process_goes_on(who, monkeypatch):
    """The number that another machine has given to a leader is that of any process here."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        if who == "{self}":
            leader.lead()
            monkeypatch.setenv(leader.VARIABLE, os.environ[leader.VARIABLE])
        else:
            monkeypatch.setenv(leader.VARIABLE, who.format(pid=other.pid))
        threads = []
        monkeypatch.setattr(leader.threading, "Thread", lambda **options: threads.append(options))
        leader.follow()
    assert threads == []


def test_a_leader_that_has_ended_before_is_noticed():
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    began = time.monotonic()
    leader._wait(ended.pid)
    assert time.monotonic() - began < PATIENCE_S


def test_where_the_system_does_not_tell_of_ends_it_is_asked(monkeypatch):
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    leader._wait(ended.pid)
