"""Jobs that are forks of a ready process end as those that start by themselves."""

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

SETS = Path(__file__).parents[3] / "params"
START = """
import sys
from parkf.workflow.running.ready import shell_function
print(shell_function(), flush=True)
sys.stdin.read()
"""
PATIENCE_S = 30


@pytest.fixture(scope="module")
def server():
    """A process that starts a ready process and waits, and the shell's function that asks the latter."""
    with subprocess.Popen(
        [sys.executable, "-c", START], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        yield parent, parent.stdout.readline().strip()
        parent.stdin.close()


def asked(function, command, folder=Path(), **environment):
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", f"{function}\n{command}"],
        cwd=folder,
        env=os.environ | {"PATH": path} | environment,
        capture_output=True,
        text=True,
    )


def ready(parent):
    return psutil.Process(parent.pid).children()[0]


def wait_for(condition):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize(
    "command", ["--version", "no-such-command", "gate no/such/validation.json", "schema"]
)
def test_a_fork_answers_as_a_command_of_its_own(server, command, tmp_path):
    of_its_own = asked("", f"parkf {command}", tmp_path)
    fork = asked(server[1], f"parkf {command}", tmp_path)
    assert (fork.returncode, fork.stdout, fork.stderr) == (
        of_its_own.returncode,
        of_its_own.stdout,
        of_its_own.stderr,
    )


def test_a_fork_has_the_folder_and_the_environment_of_its_shell(server, tmp_path):
    done = asked(server[1], "parkf init made", tmp_path, PARKF_USAGE="1")
    assert done.returncode == 0
    assert (tmp_path / "made/Snakefile").is_file()
    assert "parkf usage:" in done.stderr
    assert "parkf usage:" not in asked(server[1], "parkf --version", tmp_path).stderr


def test_the_shell_learns_that_a_fork_was_killed(server, tmp_path):
    parent, function = server
    version = min(one.name for one in SETS.glob("*-r*"))
    # Nobody reads the output, so that the fork waits as soon as the pipe is full.
    command = ["bash", "-c", f"{function}\nparkf params show {SETS / version} --json"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE) as shell:
        wait_for(lambda: any(one.status() == psutil.STATUS_SLEEPING for one in ready(parent).children()))
        ready(parent).children()[0].kill()
        assert shell.wait(PATIENCE_S) == 128 + 9


@pytest.mark.skipif(
    sys.platform != "linux", reason="other systems do not list the files that a process has mapped"
)
def test_what_a_job_imports_is_imported_for_the_next(server):
    parent, function = server
    assert asked(function, "parkf check-dataset V no/such.parquet").returncode == 1
    wait_for(lambda: any("libarrow" in one.path for one in ready(parent).memory_maps()))
    # A fork has one thread, and would wait for locks that others hold; Arrow's allocator looks after its own.
    threads = Path(f"/proc/{ready(parent).pid}/task").glob("*/comm")
    assert sorted(one.read_text().strip() for one in threads) == ["jemalloc_bg_thd", "python"]


def of_a_process_that_has_ended(folder):
    """What a process whose TMPDIR is this folder prints: the shell's function."""
    done = subprocess.run(
        [sys.executable, "-c", START],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=os.environ | {"TMPDIR": str(folder)},
    )
    assert done.returncode == 0
    return done.stdout.strip()


def test_it_ends_with_the_process_that_started_it(tmp_path):
    function = of_a_process_that_has_ended(tmp_path)
    assert function
    wait_for(lambda: not list(tmp_path.iterdir()))
    # The shell's function starts the command by itself then.
    assert asked(function, "parkf --version").stdout == asked("", "parkf --version").stdout


def test_without_room_for_a_socket_jobs_start_by_themselves(tmp_path):
    far = tmp_path / ("far" * 40)
    far.mkdir()
    assert of_a_process_that_has_ended(far) == ""
    assert not list(far.iterdir())
