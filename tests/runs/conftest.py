"""A finished smoke run, made once for all tests that read it; each process of the tests has a copy."""

import re
import shutil
from pathlib import Path

import pytest

from parkf.io.files import sha256

from .ready import snakemake

ROOT = Path(__file__).parents[2]


class Project:
    """A folder with its own inputs and results, run with this checkout's rules.

    Parameters
    ----------
    folder : Path
        Where inputs and results are.
    """

    def __init__(self, folder):
        self.folder = folder

    @classmethod
    def new(cls, folder):
        """Return a project that has not run."""
        for name in ("data", "workflow"):
            shutil.copytree(ROOT / name, folder / name)
        return cls(folder)

    def snakemake(self, *arguments, source=None):
        """Run Snakemake on the smoke configuration; `source` replaces the package's source in its process."""
        command = [
            *("--snakefile", str(ROOT / "Snakefile" if source is None else source.parent / "Snakefile")),
            *("--directory", str(self.folder), "--workflow-profile", str(ROOT / "workflow/profiles/local")),
            *("--configfile", str(self.folder / "workflow/config/smoke.yaml")),
            *arguments,
        ]
        return snakemake(*command, folder=self.folder, source=source)

    def would_run(self, *arguments, source=None):
        """Jobs that a run would do now, by rule."""
        done = self.snakemake("--cores", "1", "--dry-run", *arguments, source=source)
        assert done.returncode == 0, done.stdout + done.stderr
        table = (done.stdout + done.stderr).partition("Job stats:")[2].partition("\n\n")[0]
        return {
            rule: int(count) for rule, count in re.findall(r"^(\w+) +(\d+)$", table, re.M) if rule != "total"
        }


@pytest.fixture(scope="session")
def finished(tmp_path_factory, shared):
    """A project after its smoke run, which all tests of a process share: each leaves it as it was."""

    def run(folder):
        folder.mkdir()
        done = Project.new(folder).snakemake("--cores", "2")
        assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]

    own = tmp_path_factory.getbasetemp() / "finished"
    project = Project(shutil.copytree(shared.path("smoke", run), own, symlinks=True))
    before = listed(own)
    yield project
    changed = sorted({path for path, _ in before ^ listed(own)})
    assert not changed, f"a test has changed the finished run: {changed}"


def listed(folder):
    """Files of a project with their checksums, except Snakemake's own."""
    files = (path for path in folder.rglob("*") if path.is_file() and ".snakemake" not in path.parts)
    return {(str(path.relative_to(folder)), sha256(path)) for path in files}


@pytest.fixture
def project(tmp_path):
    """A project that has not run."""
    return Project.new(tmp_path)
