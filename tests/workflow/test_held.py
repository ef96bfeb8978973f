"""One process at a time leads a run, until it has ended for any reason."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from parkf.io.errors import ParkfError
from parkf.io.files import UNFINISHED
from parkf.workflow import held
from parkf.workflow.held import HELD, hold, release

HOLDER = """
import sys
from pathlib import Path
from parkf.workflow.held import hold
hold(Path("results/run"))
print("holds", flush=True)
sys.stdin.read()
"""
RUN = Path("results/run")


@pytest.fixture
def holder(tmp_path, monkeypatch):
    """Another process that holds the run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(held, "_PATIENCE_S", 0.2)
    monkeypatch.delenv(HELD, raising=False)
    words = [sys.executable, "-c", HOLDER]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "holds\n"
        yield process
        process.kill()
    release()


def test_the_second_is_refused_with_the_name_of_the_first(holder):
    said = rf"results/run: process {holder.pid} on .* since .* UTC is at work here; wait until that run has"
    with pytest.raises(ParkfError, match=said):
        hold(RUN)
    hold(Path("results/another"))


def test_it_is_free_when_the_first_was_killed(holder):
    (RUN / f".a.json.0123{UNFINISHED}").write_text("half")
    store = Path("results/.store")
    store.mkdir()
    (store / f".b.4567{UNFINISHED}").write_text("half")
    (RUN / "whole.json").write_text("{}")
    holder.kill()
    holder.wait()
    hold(RUN)
    # What the killed one left unfinished is gone.
    assert sorted(path.name for path in Path("results").rglob("*") if path.is_file()) == [
        held.LOCK,
        "whole.json",
    ]
    assert f"process {os.getpid()} on " in (RUN / held.LOCK).read_text()


def test_a_process_that_inherits_the_file_holds_it_too(holder):
    holder.kill()
    holder.wait()
    lock = hold(RUN)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=[lock]) as child:
        release()
        with pytest.raises(ParkfError, match="is at work here"):
            hold(RUN)
        child.communicate(b"\n")
    hold(RUN)


def test_what_the_parent_holds_is_not_asked_for(holder, monkeypatch):
    monkeypatch.setenv(HELD, os.pathsep.join(["/elsewhere", str(RUN.absolute())]))
    assert hold(RUN) == -1
