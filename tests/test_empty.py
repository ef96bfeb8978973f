"""Chunks without collisions, events without tracks and bins without entries are accepted or reported."""

import json
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from parkf.cli.main import app
from parkf.cli.messages import explained
from parkf.fit.sample import Sample
from parkf.io.checksums import CheckedFile
from parkf.io.tables import CANDIDATES, CLOSURE_TRACKS, FATES, FITTED, HITS, PARTICLES, STATES, STEP_DATA
from parkf.model.steps import FORMS
from parkf.proof.validation.validate import validate

from .gun import shoot

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests/proof/validation"))
from samples import make_sample  # noqa: E402

GEOMETRY = ("--geometry", ROOT / "data/geometry/run3.yaml")
ALIGNED = (*GEOMETRY, "--alignment", ROOT / "data/geometry/alignment_nominal.yaml")
SET = ROOT / "params/2026-run3-like-2-r005"


class Stages:
    """Run commands on the files of a folder, all in this process."""

    def __init__(self, folder, field):
        self.folder = folder
        field.save(folder / "field.npz")
        self.through_field = (*GEOMETRY, "--field", folder / "field.npz")
        self.detector = (*ALIGNED, "--field", folder / "field.npz")
        self.simulated = (*self.detector, "--polarity", 1)
        for table in (PARTICLES, STATES, HITS, FATES, CANDIDATES, FITTED, CLOSURE_TRACKS, STEP_DATA):
            with table.writer(folder / f"{table.name}.parquet") as writer:
                writer.write_table(table.schema.empty_table())

    def __call__(self, command, *arguments):
        """Return the error message of the command, or None if it succeeds."""
        files = (
            self.folder / word if str(word).endswith((".parquet", ".npz", ".json")) else word
            for word in arguments
        )
        done = CliRunner().invoke(app, [command, *map(str, files)])
        if done.exception is None or (isinstance(done.exception, SystemExit) and done.exception.code == 0):
            return None
        said = explained(done.exception) if isinstance(done.exception, Exception) else None
        if said is None:
            raise done.exception
        return said

    def rows(self, name):
        return CheckedFile(self.folder / name).metadata.num_rows


@pytest.fixture
def stages(tmp_path, field):
    return Stages(tmp_path, field)


def test_chunks_without_collisions_pass(stages):
    folder, seed = stages.folder, ("--seed", 1)
    products = ("--states", "s.parquet", "--hits", "h.parquet", "--fates", "f.parquet")
    assert stages("simulate", "particles.parquet", *stages.simulated, *seed, *products) is None
    assert (
        stages("simulate", "particles.parquet", *stages.simulated, *seed, "--hits", "hc.parquet", "--crowded")
        is None
    )
    shifts = ("--scifi-module", 0.1, "--scifi-mat", 0.1)
    assert stages("misalign", "h.parquet", "hm.parquet", *shifts, *seed) is None
    for how in (("--segments", "truth"), ("--segments", "found"), ("--matched",)):
        assert stages("candidates", "hm.parquet", "c.parquet", *stages.simulated, *how) is None
        assert stages.rows("c.parquet") == 0
    (folder / "chunks").mkdir()
    for chunk in ("1-of-2", "2-of-2"):
        shutil.copy(folder / "particles.parquet", folder / f"chunks/{chunk}.parquet")
    assert stages("gather", folder / "chunks", "whole.parquet", "--chunks", 2) is None
    for name in ("s.parquet", "h.parquet", "hc.parquet", "f.parquet", "whole.parquet"):
        assert stages.rows(name) == 0, name

    assert stages("draw", "particles.parquet", "s.parquet", "draws/up.npz", *ALIGNED) is None
    assert stages("thresholds", folder / "draws", "kept.json", "--samples", "up") is None
    steps = ("particles.parquet", "s.parquet", folder / "rows/up", "--thresholds", "kept.json")
    assert stages("datasets", *steps, *stages.detector) is None
    for step in FORMS["improved"].steps:
        assert stages("gather-dataset", step, folder / "rows", f"{step}.parquet", "--samples", "up") is None
        assert stages.rows(f"{step}.parquet") == 0

    schemes = ("--scheme velo_only",)
    for how in ("", "--robust --score", "--outliers 16 --rich-states", *schemes):
        assert stages("fit", SET, "candidates.parquet", "fit.parquet", *how.split()) is None
        assert stages.rows("fit.parquet") == 0
    assert stages("fit-full", "candidates.parquet", "full.parquet", *stages.detector) is None
    assert stages("throughput", SET, folder / "candidates.parquet", "speed.json") is None
    # One particle may leave no track.
    assert stages("closure-tracks", "ct.parquet", *stages.simulated, "--tracks", 1, *seed) is None


def test_what_nothing_can_be_learnt_from_is_named(stages):
    """A whole sample without entries cannot train or measure anything; the message names the file."""
    folder = stages.folder
    for name in ("particles", "candidates", "fates"):
        (folder / f"run/{name}").mkdir(parents=True)
        shutil.copy(folder / f"{name}.parquet", folder / f"run/{name}/validation_up.parquet")
    for fit in ("parkf", "parkf_float64"):
        (folder / f"run/fitted/{fit}").mkdir(parents=True)
        shutil.copy(folder / "fitted.parquet", folder / f"run/fitted/{fit}/validation_up.parquet")
    assert "0 genuine candidates and 0 ghosts" in stages(
        "train-score", SET, "score.json", "--particles", folder / "particles.parquet", "--candidates",
        folder / "candidates.parquet", "--seed", 1,
    )  # fmt: skip
    assert "no candidates" in stages(
        "validate", folder / "run", "validation.json", "--samples", "validation_up", "--fits", "parkf"
    )
    assert "no candidates" in stages(
        "measure", "particles.parquet", "candidates.parquet", "fitted.parquet", "m.json"
    )
    described = ("hits.parquet", "particles.parquet", "candidates.parquet", "candidates.parquet")
    assert "0 tracks above and 0 below 10 GeV" in stages(
        "characterise", *described, "c.json", *stages.simulated
    )
    assert "no candidates" in stages("characterise-search", *described, "fitted.parquet", "s.json")
    for step in ("V", "T", "BEAM"):
        empty = "0 rows, expected at least 100"
        shutil.copy(folder / "step-data.parquet", folder / f"{step}.parquet")
        assert empty in stages("check-dataset", step, f"{step}.parquet")
        born = ("--seed", 1, *stages.through_field) if step == "T" else ()
        assert empty in stages("train", step, f"{step}.parquet", "fit.json", *born)


def test_bins_without_entries_are_left_out():
    """Tracks are from 5 to 8 GeV, so all other bins are empty; the figures are still numbers."""
    sample = make_sample(n=30_000, ghosts=400)
    rows = sample.rows
    few = Sample(rows[(rows.p_true.between(5000, 8000)) | (rows.purity < 0.7)].reset_index(drop=True))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        measured = validate({"parkf": few}, few)
    json.dumps(measured, allow_nan=False)
    assert [entry["p_min"] for entry in measured["fits"]["parkf"]["momentum"]] == [5.0]
    assert [entry["p_min"] for entry in measured["fits"]["parkf"]["lost"]] == [5.0]


def test_events_without_tracks_are_passed_over(stages):
    """Events 0 and 4 of five have a particle that leaves a track; only these have candidates and fits."""
    shot = pa.table(shoot(events=5, per_event=3, seed=3, p_range=(5000.0, 50_000.0)), schema=PARTICLES.schema)
    keep = np.isin(shot["event"].to_numpy(), [0, 4])
    with PARTICLES.writer(stages.folder / "p.parquet") as writer:
        writer.write_table(shot.filter(keep))
    assert stages("simulate", "p.parquet", *stages.simulated, "--seed", 1, "--hits", "h.parquet") is None
    assert stages("candidates", "h.parquet", "c.parquet", *stages.simulated) is None
    assert stages("fit", SET, "c.parquet", "f.parquet") is None
    fitted = FITTED.open(stages.folder / "f.parquet").read()
    assert set(fitted["event"].to_pylist()) <= {0, 4}
    assert fitted.num_rows > 0
