"""Stages that are forks of a ready process end as those that start by themselves."""

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from parkf.stages.ready import VARIABLE

START = """
import os, sys
from parkf.stages.ready import VARIABLE, start
start()
print(os.environ.get(VARIABLE, ""), flush=True)
sys.stdin.read()
"""
PATIENCE_S = 60


@pytest.fixture(scope="module")
def server():
    """A process that has started a ready process, and the variable with which stages find the latter."""
    command = [sys.executable, "-c", START]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        yield parent, parent.stdout.readline().strip()
        parent.stdin.close()


def command(*words):
    return [sys.executable, "-P", "-m", "parkf.stages", *words]


def asked(place, *words, folder=None, **environment):
    return subprocess.run(
        command(*words),
        cwd=folder,
        env=os.environ | {VARIABLE: place} | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def ready(parent):
    return psutil.Process(parent.pid).children()[0]


def wait_for(condition):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("take_score", "--theirs", "in.txt", "--output", "out.txt"), 0),
        (("take_score", "--theirs", "none.txt", "--output", "out.txt"), 1),
        (("take_score", "--output", "out.txt"), 2),
        (("no_such_stage",), 2),
        ((), 2),
    ],
)
def test_a_fork_answers_as_a_process_of_its_own(server, tmp_path, words, code):
    (tmp_path / "in.txt").write_text("text")
    by_itself, fork = (asked(place, *words, folder=tmp_path) for place in ("", server[1]))
    assert by_itself.returncode == fork.returncode == code
    assert (fork.stdout, fork.stderr) == (by_itself.stdout, by_itself.stderr)
    assert (fork.stderr != "") == (code != 0)
    assert (tmp_path / "out.txt").exists() == (code == 0)


@pytest.fixture
def stuck(server, tmp_path):
    """A process that has asked for a stage, and the stage's fork, which waits: nobody reads what it says."""
    parent, place = server
    output, full = os.pipe()
    os.set_blocking(full, False)
    with suppress(BlockingIOError):
        while True:
            os.write(full, bytes(4096))
    os.set_blocking(full, True)
    environment = os.environ | {VARIABLE: place}
    with subprocess.Popen(command("no_such_stage"), cwd=tmp_path, env=environment, stderr=full) as process:
        wait_for(lambda: ready(parent).children())
        yield process, ready(parent).children()[0]
        process.kill()
    os.close(output)
    os.close(full)


def test_a_fork_that_is_killed_has_the_code_that_a_shell_has(stuck):
    process, fork = stuck
    fork.kill()
    assert process.wait(PATIENCE_S) == 128 + 9


def test_a_fork_ends_with_the_process_that_asked_for_it(stuck):
    process, fork = stuck
    assert fork.is_running()
    process.kill()
    assert psutil.wait_procs([fork], PATIENCE_S)[1] == []


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not list the files of a process")
def test_what_a_stage_imports_is_imported_for_the_next(server, tmp_path):
    parent, place = server
    assert (
        asked(place, "gather", "--chunks", "none", "--output", "x.parquet", folder=tmp_path).returncode == 1
    )
    wait_for(lambda: any("libarrow" in one.path for one in ready(parent).memory_maps()))
    # A fork has one thread, and would wait for locks that others hold. Arrow's allocator may start a
    # thread at any time, which gets its name a little later, and looks after its own locks.
    threads = Path(f"/proc/{ready(parent).pid}/task")
    wait_for(
        lambda: (
            [name for name in map(Path.read_text, threads.glob("*/comm")) if "jemalloc" not in name]
            == ["python\n"]
        )
    )


def test_a_job_of_a_cluster_is_no_fork(server, tmp_path):
    """It has cores and memory of its own."""
    parent, place = server
    # Nobody would answer at this place in time.
    ready(parent).suspend()
    assert asked(place, "no_such_stage", folder=tmp_path, SLURM_JOB_ID="7").returncode == 2
    ready(parent).resume()


def of_a_process_that_has_ended(folder):
    """The variable that a process has set whose TMPDIR is this folder."""
    environment = os.environ | {"TMPDIR": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", START],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    return done.stdout.strip()


def test_it_ends_with_the_process_that_started_it(tmp_path):
    place = of_a_process_that_has_ended(tmp_path)
    assert place
    wait_for(lambda: not list(tmp_path.iterdir()))
    # A stage then starts by itself.
    assert asked(place, "no_such_stage").returncode == 2


def test_it_ends_with_a_process_that_is_killed():
    with subprocess.Popen(
        [sys.executable, "-c", START], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as one:
        one.stdout.readline()
        (server,) = psutil.Process(one.pid).children()
        one.kill()
    assert psutil.wait_procs([server], PATIENCE_S)[1] == []


def test_without_room_for_a_socket_stages_start_by_themselves(tmp_path):
    far = tmp_path / ("far" * 40)
    far.mkdir()
    assert of_a_process_that_has_ended(far) == ""
    assert not list(far.iterdir())
