"""The end of a workflow that was told to end: in this process, with short times."""

import signal
import subprocess
import sys
import time

import pytest
from parkf.workflow.running import supervise

# A process that ignores SIGTERM, and says when it does.
DEAF = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(60)"
)


@pytest.fixture
def slept(monkeypatch):
    """Short times; the seconds that were slept, which must stay few."""
    soon = dict.fromkeys(supervise._AFTER_SIGNAL_S, 0.05)
    for name, value in (("_AFTER_SIGNAL_S", soon), ("_AFTER_SIGTERM_S", 0.05), ("_WITHOUT_JOB_S", 0.3)):
        monkeypatch.setattr(supervise, name, value)
    slept, sleep = [], time.sleep

    def counted(seconds):
        slept.append(seconds)
        assert len(slept) < 100, "it waits forever"
        sleep(0.5 * seconds)

    monkeypatch.setattr(supervise.time, "sleep", counted)
    return slept


@pytest.fixture
def started():
    running = []

    def start(code):
        running.append(subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE))
        assert running[-1].stdout.readline()
        return running[-1]

    yield start
    for one in running:
        one.kill()
        one.wait()
        one.stdout.close()


def test_a_workflow_without_jobs_that_does_not_end_is_killed(slept, started, capsys):
    process = started(DEAF)
    supervise._end(process, signal.SIGTERM)
    assert process.wait(10) == -9
    assert f"the workflow, process {process.pid}, was told to end, and did not" in capsys.readouterr().err
    # It was waited for as long as it may take, and not longer.
    assert sum(slept) == pytest.approx(0.3, abs=0.11)


def test_a_workflow_that_ends_is_waited_for(slept, started, capsys):
    process = started("import time; print(1, flush=True); time.sleep(0.05)")
    supervise._end(process, signal.SIGTERM)
    assert process.wait(10) == 0
    assert "told to end" not in capsys.readouterr().err
