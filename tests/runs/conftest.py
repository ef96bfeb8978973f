"""A finished smoke run and a finished family, made once for all tests that read them."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from parkf.io.files import sha256
from parkf.io.ledger import Ledger, content_of
from parkf.io.store import STORE

from .ready import snakemake

ROOT = Path(__file__).parents[2]
PARKF = Path(sys.executable).with_name("parkf")
# A family of small runs. The members differ in the fitter that their sets are for, or in alignment and noise.
SMALL = "workflow/config/small.yaml"
SMALL_RUN = {
    "extends": "smoke",
    "run": "small",
    "forms": "production",
    "polarities": ["up"],
    "field": {"spacing": 200},
    "events": {"training": 80, "validation": 8},
    "misalignment": {"scifi_mat": 0.1},
    "signals": {"collisions": 3000},
    "training": {
        **{"client": "trigger", "max_rows": 20_000, "rays": 10_000},
        "closure": {"tracks": 8000, "rays": 10_000, "passes": 1},
    },
    "fits": {"of": ["parkf", "trigger", "full"]},
}
MEMBERS = {
    "trigger": {},
    "ours": {"training": {"client": "parkf"}},
    "shifted": {
        "detector": {"alignment": "data/geometry/alignment_scifi_shift.yaml"},
        "training": {"noise_scale": {"T": 1.1}},
    },
}
# Files that are made of each member.
ENDS = {
    "trigger": ["set/manifest.json"],
    "ours": ["set/manifest.json"],
    "shifted": ["validation.json", "accuracy.json"],
}


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

    def know(self, other, *stages):
        """Let runs here copy what these stages, which take long, have made in another project."""
        store, before = self.folder / STORE, self.folder / "results/before"
        store.mkdir(parents=True, exist_ok=True)
        for run in (other.folder / "results").iterdir():
            for entry in Ledger(run).entries():
                if entry.stage in stages and not entry.taken_from:
                    Ledger(before).append(entry)
                    for digest in entry.outputs.values():
                        shutil.copyfile(other.folder / STORE / digest, store / digest)
                        # What has no second link is no run's.
                        (before / digest).hardlink_to(store / digest)
        return self

    def snakemake(self, *arguments, source=None):
        """Run Snakemake on the smoke configuration; `source` replaces the package's source in its process."""
        command = [
            *("--snakefile", str(ROOT / "Snakefile" if source is None else source.parent / "Snakefile")),
            *("--directory", str(self.folder), "--workflow-profile", str(ROOT / "workflow/profiles/local")),
            *("--configfile", str(self.folder / "workflow/config/smoke.yaml")),
            *arguments,
        ]
        return snakemake(*command, folder=self.folder, source=source)

    def plan(self, *arguments, source=None):
        """What Snakemake says of the jobs that a run would do now."""
        done = self.snakemake("--cores", "1", "--dry-run", *arguments, source=source)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def would_run(self, *arguments, source=None):
        """Jobs that a run would do now, by rule."""
        return jobs(self.plan(*arguments, source=source))

    def products(self, run):
        """Checksums of a run's products; pages differ from run to run."""
        return {
            path: content_of(self.folder / path)
            for path, entry in Ledger(self.folder / "results" / run).latest().items()
            if entry.stage not in ("report", "family_report")
        }


def jobs(plan):
    """Number of jobs of each rule in what Snakemake says of a plan."""
    table = plan.partition("Job stats:")[2].partition("\n\n")[0]
    return {rule: int(count) for rule, count in re.findall(r"^(\w+) +(\d+)$", table, re.M) if rule != "total"}


def commands(plan):
    """Commands of a plan, in an order in which they can run, each with the name of its rule."""
    return re.findall(r"^(?:local)?rule (\w+):\n(?:.+\n)*?Shell command: (?!None$)(.*)$", plan, re.M)


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


@pytest.fixture(scope="session")
def family(shared):
    """A project after a family of small runs, which no test changes."""

    def run(folder):
        folder.mkdir()
        configs = Project.new(folder).folder / "workflow/config"
        (configs / "small.yaml").write_text(json.dumps(SMALL_RUN))
        (configs / "families/fam.yaml").write_text(
            json.dumps({"family": "fam", "base": SMALL, "conditions": MEMBERS})
        )
        ends = [f"results/fam.{name}/{end}" for name, ends in ENDS.items() for end in ends]
        words = [PARKF, "run", "fam", *ends, "--family", "--cores", "2"]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-5000:]

    return Project(shared.path("family", run))


def listed(folder):
    """Files of a project with their checksums, except Snakemake's own."""
    files = (path for path in folder.rglob("*") if path.is_file() and ".snakemake" not in path.parts)
    return {(str(path.relative_to(folder)), sha256(path)) for path in files}


@pytest.fixture
def project(tmp_path):
    """A project that has not run."""
    return Project.new(tmp_path)
