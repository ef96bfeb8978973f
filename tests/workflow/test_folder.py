"""A working folder is made once, its own files stay, and a run in it equals a run in a checkout."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from parkf.cli.main import app
from parkf.io.errors import ParkfError
from parkf.io.project import PROJECT
from parkf.workflow.config import read_config
from parkf.workflow.folder import make_folder
from parkf.workflow.snakemake import command

PARKF = Path(sys.executable).with_name("parkf")
SMOKE = Path("workflow/config/smoke.yaml")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    make_folder(tmp_path / "x")
    monkeypatch.chdir(tmp_path / "x")
    return tmp_path / "x"


def test_files_that_are_there_stay_as_they_are(folder):
    own = folder / "data/geometry/alignment_nominal.yaml"
    own.write_text("tag: mine\n")
    (folder / "data/field/dipole.json").unlink()
    made, there = make_folder(folder)
    assert made == [folder / "data/field/dipole.json"]
    assert own in there
    assert own.read_text() == "tag: mine\n"


def test_it_has_all_that_its_configurations_name(folder):
    for name in ("default", "improved", "paper", "smoke"):
        assert read_config(Path(f"workflow/config/{name}.yaml"), Path())["run"] == name
    done = CliRunner().invoke(app, ["check", str(SMOKE)])
    assert done.exit_code == 0, done.output


def test_a_run_in_it_is_that_of_the_project(folder):
    done = subprocess.run(
        [PARKF, "run", "smoke", "--dry-run", "--cores", "1"], capture_output=True, text=True, check=False
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    jobs = dict(line.split() for line in said.splitlines() if len(line.split()) == 2)
    assert {name: jobs.get(name) for name in ("run", "table", "train", "assemble", "report")} == {
        **{"run": "1", "table": "1", "train": "1", "assemble": "1", "report": "1"}
    }
    assert not (folder / "results").exists()


def test_a_run_without_a_configuration_says_which_there_are(folder):
    done = subprocess.run([PARKF, "run", "somke"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "did you mean smoke?" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_profiles_and_rules_are_the_folders_own_where_it_has_them(folder):
    words = command(SMOKE, cores=3)
    assert words[words.index("--snakefile") + 1] == "Snakefile"
    assert words[words.index("--workflow-profile") + 1] == "workflow/profiles/local"
    assert words[words.index("--cores") + 1] == "3"
    for file in (PROJECT / "workflow/profiles").rglob("*.yaml"):
        assert (folder / file.relative_to(PROJECT)).read_bytes() == file.read_bytes()
    # A folder that an earlier version has made has no profiles.
    shutil.rmtree(folder / "workflow/profiles")
    words = command(SMOKE, cores=3)
    assert words[words.index("--workflow-profile") + 1] == str(PROJECT / "workflow/profiles/local")
    # A cluster's profile needs no number of cores, because the scheduler counts them.
    ours = folder / "workflow/profiles/ours"
    shutil.copytree(PROJECT / "workflow/profiles/slurm", ours)
    words = command(SMOKE, ["publish"], profile="ours")
    assert words[words.index("--workflow-profile") + 1] == "workflow/profiles/ours"
    assert "--local-cores" in words
    assert "--cores" not in words
    assert words[-2:] == ["--", "publish"]
    with pytest.raises(ParkfError, match=r"nosuch: no such profile; there are htcondor, local, ours, slurm"):
        command(SMOKE, profile="nosuch")


def test_the_package_finds_its_project_in_a_checkout_and_in_a_wheel(tmp_path):
    assert (PROJECT / "Snakefile").is_file()
    installed = tmp_path / "site-packages/parkf"
    (installed / "io").mkdir(parents=True)
    file = shutil.copy(PROJECT / "src/parkf/io/project.py", installed / "io")
    spec = importlib.util.spec_from_file_location("installed", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.PROJECT == installed / "shipped"
