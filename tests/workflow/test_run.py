"""Properties of a run that its rules use."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from parkf.io.errors import ParkfError
from parkf.workflow.run import read_run

ROOT = Path(__file__).parents[2]
SMOKE = yaml.safe_load((ROOT / "workflow/config/smoke.yaml").read_text())


def read(monkeypatch, **changed):
    """Read the smoke run as Snakemake does, with values of the command line."""
    monkeypatch.chdir(ROOT)
    return read_run(SMOKE | changed, {})


def test_a_run_has_what_its_configuration_extends(monkeypatch):
    run = read(monkeypatch)
    assert (run["run"], run.is_member) == ("smoke", False)
    assert run["seed"] == 2026
    assert read(monkeypatch, seed=7)["seed"] == 7
    with pytest.raises(ParkfError, match="config: sead: unknown key"):
        read(monkeypatch, sead=7)


def test_a_mistake_is_named_with_its_file_and_line(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    folder = Path("workflow/config")
    folder.mkdir(parents=True)
    (folder / "default.yaml").write_text((ROOT / folder / "default.yaml").read_text())
    (folder / "mine.yaml").write_text("extends: default\nrun: mine\nsead: 7\n")
    with pytest.raises(ParkfError, match=r"workflow/config/mine\.yaml:3: sead: unknown key"):
        read_run(yaml.safe_load((folder / "mine.yaml").read_text()), {})


def test_the_order_of_polarities_gives_no_sample_another_seed(monkeypatch):
    runs = [read(monkeypatch, polarities=one) for one in (["up", "down"], ["down", "up"], ["down"])]
    assert len({run.seed("training_down") for run in runs}) == 1
    seeds = [runs[0].seed(one) for one in runs[0].samples("training", "validation", "closure", "jpsi", "d0")]
    assert len(set(seeds)) == len(seeds)


def test_rules_that_read_a_plan_load_no_formulas_before_they_need_them():
    program = "import sys; import parkf.workflow.run, parkf.workflow.rules; print('sympy' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "False\n"
