"""The report of `parkf why`: what has changed, and what a run would make again, as the run then does."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from parkf.cli.main import app
from parkf.workflow.repair import REPAIRED, repair
from parkf.workflow.why import in_words, why

from .conftest import Project
from .ready import snakemake

ALIGNMENT = "data/geometry/alignment_nominal.yaml"


@pytest.fixture
def ask(monkeypatch):
    """Return a function that asks why a run that extends the smoke run would run, and what would run."""
    # The ready process plans, too.
    run = SimpleNamespace(run=lambda words, **_: snakemake(*words[4:], folder="."))
    monkeypatch.setattr("parkf.workflow.why.subprocess", run)

    def ask(project, run="smoke", **own):
        monkeypatch.chdir(project.folder)
        config = project.folder / "workflow/config/asked.yaml"
        config.write_text(json.dumps({"extends": "smoke", "run": run} | own))
        try:
            found = why(config, 2)
            jobs = project.would_run("--configfile", config)
        finally:
            config.unlink()
        assert len(in_words(found).splitlines()) < 25
        return found, jobs.keys() - {"all"}

    return ask


@pytest.fixture
def realigned():
    """Return a function that changes the alignment of a project; the finished run has it back afterwards."""
    changed = []

    def change(project):
        path = project.folder / ALIGNMENT
        changed.append((path, path.read_text()))
        path.write_text(changed[-1][1].replace("scifi_layers: {}", "scifi_layers: {3: {x: 0.1}}"))

    yield change
    for path, text in changed:
        path.write_text(text)


def test_nothing_has_changed(ask, finished):
    found, jobs = ask(finished)
    assert (found.causes, found.again, found.broken, jobs) == ({}, {}, [], set())
    assert "nothing has changed since" in in_words(found)


def test_changed_keys_are_told_in_words(ask, finished):
    found, jobs = ask(finished, training={"max_rows": 90_000, "noise_scale": {"V": 1.1}})
    assert {*found.causes} == {"training.max_rows: 100000 → 90000", "training.noise_scale.V: 1.07 → 1.1"}
    assert found.again.keys() == jobs
    assert jobs >= {"simulate_training", "rows", "train", "close", "report"}
    assert found.kept.keys() >= {"field", "generate", "table", "simulate_validation"}


def test_a_changed_alignment_is_named(ask, finished, realigned):
    realigned(finished)
    found, jobs = ask(finished)
    assert found.again.keys() == jobs
    assert {*found.kept} == {"field", "generate", "table"}
    assert any(f"made from another {ALIGNMENT}" in line for line in found.broken)


def test_another_run_makes_everything(ask, finished):
    found, jobs = ask(finished, run="other")
    assert (found.made, found.kept) == (None, {})
    assert found.again.keys() == jobs
    assert "Nothing of it is there yet." in in_words(found)


def test_touched_products_are_looked_into(ask, finished, realigned, tmp_path):
    """What Snakemake is told to believe is held against the ledger."""
    project = Project(shutil.copytree(finished.folder, tmp_path / "copy", symlinks=True))
    touched = project.snakemake("--cores", "1", "--touch")
    assert touched.returncode == 0, touched.stderr
    found, jobs = ask(project)
    assert (found.again, found.broken, jobs) == ({}, [], set())
    assert repair(Path("results/smoke")) == ([], False)
    realigned(project)
    assert project.snakemake("--cores", "1", "--touch").returncode == 0
    found, jobs = ask(project)
    assert jobs == set()
    assert found.again.keys() >= {"simulate_training", "train", "close", "report"}
    # A run removes them when Snakemake has ended, and starts it again.
    said, _ = repair(Path("results/smoke"), kinds=(*REPAIRED, "changed"))
    assert any(f"made from another {ALIGNMENT}" in line for line in said)
    assert found.again.keys() == project.would_run().keys() - {"all"}


def test_chunks_of_the_profile_are_planned(ask, finished, tmp_path):
    profile = finished.folder / "workflow/profiles/local/profile.yaml"
    shutil.copy2(profile, tmp_path / "kept.yaml")
    try:
        with profile.open("a") as file:
            file.write("set-scatter: [training=2]\n")
        found, _ = ask(finished, run="chunked")
    finally:
        shutil.copy2(tmp_path / "kept.yaml", profile)
    # States, draws and candidates of two chunks of both polarities.
    assert found.again["simulate_training"] == 3 * 4


def test_a_run_that_cannot_be_is_refused(finished, monkeypatch):
    monkeypatch.chdir(finished.folder)
    (finished.folder / "workflow/config/bad.yaml").write_text("extends: smoke\nrun: bad\nseed: -1\n")
    try:
        done = CliRunner().invoke(app, ["why", "bad"])
    finally:
        (finished.folder / "workflow/config/bad.yaml").unlink()
    assert "workflow/config/bad.yaml:3: seed: got -1" in str(done.exception)
