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
from parkf.fit.sample import Sample
from parkf.io.checksums import CheckedFile
from parkf.io.errors import ParkfError
from parkf.io.tables import CANDIDATES, CLOSURE_TRACKS, FATES, FITTED, HITS, PARTICLES, STATES, STEP_DATA
from parkf.model.steps import FORMS
from parkf.params.parameter_set import load
from parkf.proof.validation.validate import validate
from parkf.training.ghost_score.train import train_score

from .gun import shoot
from .stage import stage

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests/proof/validation"))
from samples import make_sample  # noqa: E402

GEOMETRY, ALIGNMENT = (ROOT / "data/geometry/run3.yaml", ROOT / "data/geometry/alignment_nominal.yaml")
SET = ROOT / "params/2026-run3-like-2-r005"
# A set with numbers for the RICH planes.
WITH_RICH = ROOT / "params/2026-run3-like-2-r019"


class Stages:
    """Call stages and commands on the files of a folder, all in this process."""

    def __init__(self, folder, field):
        self.folder = folder
        field.save(folder / "field.npz")
        self.detector = {"geometry": GEOMETRY, "alignment": ALIGNMENT, "field": folder / "field.npz"}
        self.set = [SET / "manifest.json"]
        for table in (PARTICLES, STATES, HITS, FATES, CANDIDATES, FITTED, CLOSURE_TRACKS, STEP_DATA):
            with table.writer(folder / f"{table.name}.parquet") as writer:
                writer.write_table(table.schema.empty_table())

    def file(self, value):
        if isinstance(value, list):
            return [self.file(one) for one in value]
        is_file = isinstance(value, str) and value.endswith((".parquet", ".npz", ".json"))
        return self.folder / value if is_file else value

    def __call__(self, name, **arguments):
        """Return the error message of the stage, or None if it succeeds."""
        try:
            stage(name, **{key: self.file(value) for key, value in arguments.items()})
        except ParkfError as error:
            return str(error)

    def command(self, *words):
        """Return the error message of the command, or None if it succeeds."""
        done = CliRunner().invoke(app, [str(self.file(word)) for word in words])
        if done.exception is None or (isinstance(done.exception, SystemExit) and done.exception.code == 0):
            return None
        assert isinstance(done.exception, ParkfError), done.exception
        return str(done.exception)

    def rows(self, name):
        return CheckedFile(self.folder / name).metadata.num_rows


@pytest.fixture
def stages(tmp_path, field):
    return Stages(tmp_path, field)


def test_chunks_without_collisions_pass(stages):
    folder, detector = stages.folder, stages.detector
    beam = {"particles": ["particles.parquet"], "polarities": [1], "seeds": [1]}
    products = {
        "states": ["s.parquet"],
        "hits": ["h.parquet"],
        "fates": ["f.parquet"],
        "draws": ["draws/up.npz"],
    }
    found = {
        "candidates": ["cs.parquet"],
        "misaligned": ["cm.parquet"],
        "scifi_module": 0.1,
        "scifi_mat": 0.1,
    }
    (folder / "draws").mkdir()
    assert stages("simulate", **detector, **beam, **products, **found, max_rows=300_000) is None
    assert stages("simulate", **detector, **beam, hits=["hc.parquet"], crowded=True) is None
    for how in ({"segments": "truth"}, {"segments": "found"}, {"matched": True}):
        search = {"hits": "h.parquet", "output": "c.parquet", "polarity": 1}
        assert stages("candidates", **detector, **search, **how) is None
        assert stages.rows("c.parquet") == 0
    for chunk in ("1-of-2", "2-of-2"):
        shutil.copy(folder / "particles.parquet", folder / f"{chunk}.parquet")
    assert stages("gather", chunks=["1-of-2.parquet", "2-of-2.parquet"], output="whole.parquet") is None
    made = ("s", "h", "hc", "f", "whole", "cs", "cm")
    assert [stages.rows(f"{name}.parquet") for name in made] == [0] * len(made)

    assert stages("thresholds", draws=["draws/up.npz"], output="kept.json", max_rows=300_000) is None
    read = {"particles": ["particles.parquet"], "states": ["s.parquet"], "thresholds": "kept.json"}
    rows, gathered = ([f"{of}/{step}.parquet" for step in FORMS["improved"].steps] for of in ("up", "all"))
    assert stages("rows", **detector, **read, outputs=rows) is None
    assert stages("datasets", rows=rows, outputs=gathered) is None
    assert [stages.rows(one) for one in gathered] == [0] * len(gathered)

    for how in ("", "--robust --score", "--rich-states"):
        one = WITH_RICH if how == "--rich-states" else SET
        assert stages.command("fit", one, "candidates.parquet", "fit.parquet", *how.split()) is None
        assert stages.rows("fit.parquet") == 0
    files = {"candidates": ["candidates.parquet"]}
    assert stages("fit_full", **detector, **files, outputs=["full.parquet"]) is None
    # One particle may leave no track.
    tracks = {"outputs": ["ct.parquet"], "tracks": 1, "polarities": [1], "seeds": [1]}
    assert stages("closure_tracks", **detector, **tracks) is None


def test_what_nothing_can_be_learnt_from_is_named(stages):
    """A whole sample without entries cannot train or measure anything; the message names the file."""
    folder, detector = stages.folder, stages.detector
    sample = "validation_up.parquet"
    for name in ("particles", "candidates", "fates", "fitted/parkf"):
        (folder / name).mkdir(parents=True)
        shutil.copy(folder / f"{name.partition('/')[0]}.parquet", folder / name / sample)
    files = {name: [f"{name}/{sample}"] for name in ("particles", "candidates", "fates")}
    empty = {"kinds": [], "misaligned": [], "signals": [], "inside": "inside.json"}
    empty |= {"more_particles": [], "more_candidates": []}
    assert "no candidates" in stages(
        *("validate",), **files, fitted=[f"fitted/parkf/{sample}"], **empty, **detector,
        samples=["validation_up"], fits=["parkf"], output="validation.json",
    )  # fmt: skip
    tracks = {"particles": "particles.parquet", "candidates": "candidates.parquet"}
    fitted = {"fitted": "fitted.parquet"}
    assert "no candidates" in stages("measure", **tracks, **fitted, field="field.npz", output="m.json")
    described = {"hits": "hits.parquet", "matched": "candidates.parquet"}
    assert "no candidates" in stages(
        "characterise_search", **tracks, **fitted,
        matched="candidates.parquet", matched_fitted="fitted.parquet", output="s.json",
    )  # fmt: skip
    described |= {"particles": "particles.parquet", "found": "candidates.parquet"}
    assert "0 tracks, expected at least 50" in stages("characterise", **described, output="c.json")
    place = {name: detector[name] for name in ("geometry", "field")}
    for step in ("V", "T", "BEAM"):
        few = "0 rows, expected at least 100"
        shutil.copy(folder / "step-data.parquet", folder / f"{step}.parquet")
        assert few in stages.command("check-dataset", step, f"{step}.parquet")
        rows = {"datasets": [f"{step}.parquet"], "outputs": ["fit.json"], "steps": [step]}
        assert few in stages("train", **rows, **(place if step == "T" else {}))


def test_a_score_of_no_candidates_is_refused(stages):
    files = [(stages.folder / "particles.parquet", stages.folder / "candidates.parquet")]
    with pytest.raises(ParkfError, match="0 genuine candidates and 0 ghosts"):
        train_score(load(SET), files, seed=1)


def test_bins_without_entries_are_left_out():
    """Tracks are from 5 to 8 GeV, so all other bins are empty; the figures are still numbers."""
    sample = make_sample(n=30_000, ghosts=400)
    rows = sample.rows
    few = Sample(rows[(rows.p_true.between(5000, 8000)) | (rows.purity < 0.7)].reset_index(drop=True))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        measured = validate({"parkf": few})
    json.dumps(measured, allow_nan=False)
    assert [entry["p_min"] for entry in measured["fits"]["parkf"]["momentum"]] == [5.0]
    assert [entry["p_min"] for entry in measured["fits"]["parkf"]["lost"]] == [5.0]


def test_events_without_tracks_are_passed_over(stages):
    """Events 0 and 4 of five have a particle that leaves a track; only these have candidates and fits."""
    shot = pa.table(shoot(events=5, per_event=3, seed=3, p_range=(5000.0, 50_000.0)), schema=PARTICLES.schema)
    keep = np.isin(shot["event"].to_numpy(), [0, 4])
    with PARTICLES.writer(stages.folder / "p.parquet") as writer:
        writer.write_table(shot.filter(keep))
    beam = {"polarities": [1], "seeds": [1], "particles": ["p.parquet"]}
    assert stages("simulate", **stages.detector, **beam, candidates=["c.parquet"]) is None
    assert stages.command("fit", SET, "c.parquet", "f.parquet") is None
    fitted = FITTED.open(stages.folder / "f.parquet").read()
    assert set(fitted["event"].to_pylist()) <= {0, 4}
    assert fitted.num_rows > 0
