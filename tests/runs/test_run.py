"""The whole workflow on the smoke configuration: its files, and the jobs that a change makes run again."""

import pytest

from parkf.io.files import read_json
from parkf.io.ledger import Ledger
from parkf.params import load
from parkf.proof.gates import GATES_FILE, hold, load_thresholds

from .conftest import ROOT


def test_leaves_a_set_numbers_and_report(finished):
    results = finished.folder / "results/smoke"
    parameters = load(results / "set")
    assert parameters.constant.shape == (parameters.layout.constant_count,)
    assert parameters.table.size == 240_000
    validation = read_json(results / "validation.json")
    assert validation["counts"]["genuine"] > 500
    # There are few tracks, but the fit must already be sound.
    for component in ("x", "y", "tx", "ty"):
        assert 0.8 < validation["fits"]["parkf"]["pulls"][component]["width"] < 1.2
        assert 0.8 < validation["kinds"]["long_no_ut"]["pulls"][component]["width"] < 1.2
    inside = [one for one in validation["kinds"]["scifi"]["states"] if one["component"] == "x"]
    assert all(one["q68"] < 0.5 * one["sigma"] for one in inside)
    # The ledger has the times of jobs: those that make the parts of the set ended before it was assembled.
    jobs = list(Ledger(results).latest().values())
    (begin,) = {job.began for job in jobs if job.stage == "assemble"}
    needs = [job for job in jobs if job.stage in ("train", "table", "close", "constants")]
    assert {job.stage for job in needs} == {"train", "table", "close", "constants"}
    assert all(job.began + job.wall_s <= begin + 0.01 for job in needs)
    assert 'class="plot"' in (results / "report/index.html").read_text()
    hidden = {path.name for path in results.rglob(".*") if path.is_file()}
    # Snakemake's mark in a folder that it made, and the lock of the run's leader; no half-written files.
    assert hidden <= {".snakemake_timestamp", ".leader"}


def test_every_gate_finds_its_figure(finished):
    gates = hold(finished.folder / "results/smoke/set", load_thresholds(ROOT / GATES_FILE))
    # There are too few tracks for a hundred in any cell of direction, charge and momentum. A figure that is
    # found is shown, even if its error is too large.
    missing = [gate.what for gate in gates if gate.measured == "not measured" and "cells" not in gate.figure]
    assert missing == []


def test_nothing_to_do_afterwards(finished):
    assert finished.would_run() == {}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("training: 80", "trainings: 80", "unknown key 'trainings'; did you mean 'training'?"),
        ("run: smoke", "run: smoke\nfield: {source: none.json}", "field.source: none.json: no such file"),
    ],
)
def test_a_bad_config_stops_at_once(project, old, new, message):
    config = project.folder / "workflow/config/smoke.yaml"
    config.write_text(config.read_text().replace(old, new))
    done = project.snakemake("--cores", "1")
    assert done.returncode != 0
    assert message in done.stdout + done.stderr
    assert not (project.folder / "results").exists()
