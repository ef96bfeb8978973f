"""The report of `parkf why`: changes, jobs that would run again, and products of other runs."""

import json
import shutil

import pytest
from parkf.workflow.running.why import in_words, why
from typer.testing import CliRunner

from parkf.cli.main import app
from parkf.io.process_settings import prepare_process


@pytest.fixture
def ask(finished, tmp_path, monkeypatch):
    """Return a function that asks why a run that extends the finished one would run."""
    monkeypatch.chdir(finished.folder)
    # The command line prepares the process, too.
    prepare_process()
    config = finished.folder / "workflow/config/asked.yaml"

    def ask(**own):
        config.write_text(json.dumps({"extends": "smoke"} | own))
        found = why(config, 2)
        assert len(in_words(found).splitlines()) < 25
        return found

    yield ask
    config.unlink(missing_ok=True)


def test_another_misalignment_takes_all_but_what_it_looks_at(ask):
    """The run copies collisions, field, table, datasets, fits and set of the other run."""
    found = ask(run="misaligned", misalignment={"scifi_module": 0.08, "scifi_mat": 0.06})
    assert found.made is None
    assert found.kept == {}
    # What runs again: the misaligned hits of the validation, their measurement, and this run's own products.
    looks = {"misalign": 2, "candidates": 2, "misaligned_fit": 2, "fit_full": 2}
    assert found.again == looks | {"validate": 1, "stages": 1, "throughput": 1, "report": 1}
    made = {
        "field": 1,
        "generate": 2,
        "simulate_training": 2,
        "table": 1,
        "datasets": 1,
        "train": 7,
        "close": 1,
    }
    assert made.items() <= found.taken.items()
    assert {"assemble": 1, "train_score": 1, "accuracy": 1}.items() <= found.taken.items()
    text = in_words(found)
    assert "Nothing of it is there yet." in text
    assert "Taken from other runs: " in text
    apart = ask(run="apart", seed=7)
    assert apart.taken == {"field": 1}
    assert apart.wall_s > 1.5 * found.wall_s


def test_what_changed_is_told_in_words(ask, finished, tmp_path):
    nothing = ask(run="smoke")
    assert (nothing.causes, nothing.again, nothing.taken) == ({}, {}, {})
    assert "nothing has changed since" in in_words(nothing)
    found = ask(run="smoke", training={"max_rows": 90_000, "noise_scale": {"V": 1.1}})
    assert {cause: jobs for cause, jobs in found.causes.items() if not jobs} == {
        "training.max_rows: 100000 → 90000": {},
        "training.noise_scale.V: 1.07 → 1.1": {},
    }
    assert found.causes.keys() == {cause for cause, jobs in found.causes.items() if not jobs}
    assert found.kept.keys() >= {"field", "generate", "simulate_training", "table", "candidates"}
    assert found.again.keys() >= {"draw", "rows", "train", "close", "validation_fit", "report"}
    alignment = finished.folder / "data/geometry/alignment_nominal.yaml"
    shutil.copy2(alignment, tmp_path / "kept.yaml")
    try:
        alignment.write_text(alignment.read_text().replace("scifi_layers: {}", "scifi_layers: {3: {x: 0.1}}"))
        found = ask(run="smoke")
    finally:
        shutil.copy2(tmp_path / "kept.yaml", alignment)
    seen = found.causes["data/geometry/alignment_nominal.yaml has changed"]
    assert seen.items() >= {"simulate_training": 2, "closure_tracks": 2}.items()
    assert found.kept == {"field": 1, "generate": 2, "table": 1, "slices": 1}
    assert "data/geometry/alignment_nominal.yaml has changed (2 " in in_words(found)


def test_chunks_of_the_profile_are_planned(ask, finished, tmp_path):
    profile = finished.folder / "workflow/profiles/local/profile.yaml"
    shutil.copy2(profile, tmp_path / "kept.yaml")
    try:
        with profile.open("a") as file:
            file.write("set-scatter: [training=2]\n")
        found = ask(run="chunked")
    finally:
        shutil.copy2(tmp_path / "kept.yaml", profile)
    # Both polarities; the states of two chunks are simulated again.
    assert found.again["simulate_training"] + found.taken.get("simulate_training", 0) == 4


def test_a_run_that_cannot_be_is_refused(finished, monkeypatch):
    monkeypatch.chdir(finished.folder)
    (finished.folder / "workflow/config/bad.yaml").write_text("extends: smoke\nrun: bad\nseed: -1\n")
    try:
        done = CliRunner().invoke(app, ["why", "bad"])
    finally:
        (finished.folder / "workflow/config/bad.yaml").unlink()
    assert "workflow/config/bad.yaml:3: seed: got -1" in str(done.exception)
