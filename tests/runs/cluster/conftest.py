"""A Slurm of one node, and Snakemake with the project's profile on it."""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from ..conftest import ROOT

SCRIPT = Path(__file__).with_name("slurm_node.sh")
STARTS = ROOT / "tests/starts"
# Variables with which Snakemake imports no plug-ins but those that it uses.
FEW_PLUGINS = {"PYTHONPATH": str(STARTS)}
# Slurm is asked every 2 s, not every 10.
OFTEN = ("--slurm-init-seconds-before-status-checks", "2")
KILLS = (
    *("--workflow-profile", str(ROOT / "workflow/profiles/slurm"), *OFTEN),
    *("--snakefile", str(Path(__file__).parent / "kills/Snakefile")),
)


class Node:
    """The running node. A machine can be only one node at a time, so other test processes wait."""

    def __init__(self, *options):
        self._lock = (Path(tempfile.gettempdir()) / "slurm-node.lock").open("w")
        self._folder = Path(tempfile.mkdtemp(prefix="slurm-"))
        self._options = options

    def __enter__(self):
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        done = self._script("up", *self._options)
        if done.returncode != 0:
            self.__exit__()
            (pytest.skip if done.returncode == 77 else pytest.fail)(f"no Slurm: {done.stderr.strip()}")
        self.name = command("sinfo", "--noheader", "--format=%n").strip()
        return self

    def __exit__(self, *_):
        done = self._script("down")
        self._lock.close()
        assert done.returncode == 0, done.stderr
        shutil.rmtree(self._folder)

    def _script(self, verb, *options):
        # The daemons keep the files that they inherit, so a pipe would never close.
        with tempfile.TemporaryFile("w+") as errors:
            done = subprocess.run(
                [SCRIPT, verb, self._folder, *options], stdout=errors, stderr=errors, check=False, timeout=300
            )
            errors.seek(0)
            return subprocess.CompletedProcess(done.args, done.returncode, stderr=errors.read())


def command(*arguments):
    """Run one of Slurm's commands; return its output."""
    return subprocess.run(arguments, check=True, capture_output=True, text=True, timeout=30).stdout


class Workflow:
    """Snakemake running in the background; its output goes to a file."""

    def __init__(self, folder, *arguments):
        folder.mkdir(parents=True, exist_ok=True)
        self._log = folder / "snakemake.log"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "snakemake", "--directory", str(folder), *arguments],
                stdout=log,
                stderr=log,
                cwd=folder,
                env=os.environ | FEW_PLUGINS,
            )

    @property
    def said(self):
        return self._log.read_text()

    def wait(self, seconds=1800):
        """Exit code."""
        return self._process.wait(seconds)

    def stop(self):
        """End Snakemake if it still runs; this cancels the jobs that it submitted."""
        self._process.terminate()
        self._process.wait(60)

    def wait_for(self, condition, seconds=300):
        """Wait until `condition()` holds."""
        until = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < until, self.said[-5000:]
            assert self._process.poll() is None, self.said[-5000:]
            time.sleep(0.3)


@pytest.fixture(scope="module")
def node():
    with Node() as node:
        yield node


@pytest.fixture
def kills(tmp_path):
    """Return a function that starts the workflow of kills in a folder, by default the test's."""
    started = []

    def start(*arguments, folder=tmp_path):
        started.append(Workflow(folder, *KILLS, *arguments))
        return started[-1]

    yield start
    for workflow in started:
        workflow.stop()
