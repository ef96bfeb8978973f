"""Hits are read back from others' trees, and LHCb's downstream tracks have the documented figures."""

from pathlib import Path

import hit_sample
import numpy as np
import pandas as pd
import pytest
from step_sample import field_map

from parkf.detector.geometry import UT_PLANES
from parkf.imports.hits.detectors_tree import read_trees
from parkf.imports.hits.entries import slots
from parkf.imports.hits.full_simulation import _OF_TRACKS, read_tables
from parkf.imports.hits.physics import Run, inspect_hits
from parkf.imports.hits.take import take_entries
from parkf.imports.hits.track_fits import fit_scifi
from parkf.io.errors import ParkfError
from parkf.io.tables import CANDIDATES, HITS, PARTICLES

ROOT = Path(__file__).parents[2]
DOWNSTREAM = ROOT / "../shared/data/lhcb_formats/downstream/hits_detectors.root"


@pytest.fixture(scope="module")
def field():
    return field_map()


@pytest.fixture(scope="module")
def sample(geometry, field):
    return hit_sample.tracks(geometry, field)


def _entries(source, geometry):
    return read_trees([source], geometry)[source]


def _take(source, geometry, field, tmp_path, polarity=-1, tracks=False):
    seen = []
    paths = {name: tmp_path / f"{name}.parquet" for name in ("hits", "particles", "candidates")}
    wanted = (
        {"candidates_to": paths["candidates"]}
        if tracks
        else {f"{n}_to": paths[n] for n in ("hits", "particles")}
    )
    take_entries(source, Run(field, polarity, geometry), settle=seen.extend, **wanted)
    return seen, paths


def test_particles_and_hits_come_back(tmp_path, geometry, field, sample):
    source = hit_sample.write_tree(tmp_path / "hits.root", hit_sample.tree_of(sample))
    (seen,), paths = _take(source, geometry, field, tmp_path)
    assert seen.verdict == "ok"
    figures = {figure.name: figure.value for figure in seen.figures}
    assert figures["bend over the field's, median"] == pytest.approx(1.0, abs=0.003)
    assert figures["share that bends to its charge's side"] > 0.99
    particles = PARTICLES.open(paths["particles"]).read().to_pandas()
    np.testing.assert_allclose(particles.px, sample["px"], rtol=1e-12)
    assert (particles.charge == np.sign(sample["pid"])).all()
    assert particles.mass.to_numpy() == pytest.approx(139.57, abs=0.01)
    hits = HITS.open(paths["hits"]).read().to_pandas()
    hits = hits.sort_values(["event", "particle", "plane"])
    np.testing.assert_allclose(hits.x, sample["x"].ravel(), atol=1e-9)
    np.testing.assert_allclose(hits.z, sample["z"].ravel(), atol=1e-8)
    assert (hits.plane == np.tile(hit_sample.PLANES, len(sample["x"]))).all()
    # The planes of the SciFi lean away from the magnet above the beam.
    assert hits.dzdy[hits.plane >= 58].to_numpy() == pytest.approx(0.003601)


def test_a_track_is_found_from_fibres_that_lean():
    """Crossings of a parabola with fibres whose z grows by 3.6 mm per metre above y = 0."""
    lean, (x, tx, curve, y, ty) = 0.0036, (200.0, 0.3, 1e-5, 1500.0, 0.15)
    dxdy = np.tile([0.0, 0.0875, -0.0875, 0.0], 3)
    z = np.array([7826, 7896, 7966, 8036, 8508, 8578, 8648, 8718, 9193, 9263, 9333, 9403.0])
    # z = z0 + lean * (y + ty * (z - 8600))
    dz = (z + lean * (y - ty * 8600.0)) / (1 - lean * ty) - 8600.0
    hit_x = x + tx * dz + curve * dz**2 - dxdy * (y + ty * dz)
    found = fit_scifi(np.full((1, 12), lean), *(a[None] for a in (hit_x, z, dxdy, np.full(12, 0.1))))
    np.testing.assert_allclose(found.values[0], [x, tx, curve, y, ty], rtol=1e-3)


@pytest.mark.parametrize(("detector", "z"), [("UT", 4500.0), ("SciFi", 17_000.0)])
def test_hits_behind_any_detector_are_refused(tmp_path, detector, z):
    names = ("event", "key", "layer", "x", "y", "dxdy", "dzdy", "ymin", "ymax")
    rows = dict.fromkeys(names, np.zeros(200))
    rows |= {"det": np.full(200, detector), "err": np.full(200, 0.1), "z": np.full(200, z)}
    pd.DataFrame(rows | {"key": np.full(200, -1)}).to_parquet(tmp_path / "hits.parquet")
    pd.DataFrame([dict.fromkeys(_OF_TRACKS, 1.0)]).to_parquet(tmp_path / "tracks.parquet")
    with pytest.raises(ParkfError, match=r"column 'z' has the median .* is it in another unit"):
        read_tables(tmp_path / "hits.parquet", tmp_path / "tracks.parquet")


def test_particles_are_neither_matched_nor_unmatched_if_the_tree_does_not_say(tmp_path, geometry, sample):
    branches = hit_sample.tree_of(sample)
    del branches["isMatched"]
    entries = _entries(hit_sample.write_tree(tmp_path / "hits.root", branches), geometry)
    assert set(entries.of["matched"]) == {-1}


def test_what_is_wrong_is_told_once(tmp_path, geometry, field, sample):
    """In the other polarity, all particles bend to the other side."""
    source = hit_sample.write_tree(tmp_path / "hits.root", hit_sample.tree_of(sample))
    (seen,) = inspect_hits(_entries(source, geometry), "hits", Run(field, 1, geometry))
    told = [one.what for one in seen.findings]
    assert any("polarity turned" in what for what in told)
    assert len(set(told)) == len(told)


@pytest.mark.parametrize("polarity", [-1, 1])
def test_reconstructed_tracks_become_candidates(tmp_path, geometry, field, polarity):
    sample = hit_sample.tracks(geometry, field, polarity)
    branches = hit_sample.tree_of(sample) | {"pid": np.zeros(len(sample["p"]), int)}
    branches = {name: values for name, values in branches.items() if not name.startswith("Velo")}
    source = hit_sample.write_tree(tmp_path / "hits.root", branches)
    (seen,), paths = _take(source, geometry, field, tmp_path, polarity, tracks=True)
    assert seen.verdict == "ok"
    rows = CANDIDATES.open(paths["candidates"]).read().to_pandas()
    assert (np.sign(rows.qop) == np.sign(sample["pid"])).mean() > 0.99
    np.testing.assert_allclose(rows.qop.abs(), 1 / sample["p"], rtol=1e-6)
    assert (rows.velo_n == 0).all()
    np.testing.assert_allclose(np.stack(rows.scifi_x), sample["x"][:, -12:], rtol=1e-6, atol=1e-4)


def test_of_two_hits_in_a_layer_the_one_on_the_line_is_taken(tmp_path, geometry, sample):
    branches = hit_sample.tree_of(sample)
    doubled = [name for name in branches if name.startswith("UT_") and branches[name].shape[1]]
    for name in doubled:
        branches[name] = np.concatenate([branches[name][:, 2:3], branches[name]], axis=1)
    branches["UT_xAtYEq0"] = branches["UT_xAtYEq0"].copy()
    branches["UT_xAtYEq0"][:, 0] += 0.8
    entries = _entries(hit_sample.write_tree(tmp_path / "hits.root", branches), geometry)
    taken = slots(entries)
    part = [hit_sample.PLANES.index(plane) for plane in UT_PLANES]
    right = np.abs(taken["ut_x"] - sample["x"][:, part]) < 1e-6
    assert right[:, [0, 1, 3]].all()
    assert right[:, 2].mean() > 0.95


@pytest.mark.skipif(not DOWNSTREAM.is_file(), reason="LHCb's downstream tracks are not here")
def test_downstream_tracks_of_lhcb(tmp_path, geometry, field):
    seen, paths = _take(DOWNSTREAM, geometry, field, tmp_path, tracks=True)
    by_name = [{figure.name: figure.value for figure in one.figures} for one in seen]
    matched, unmatched = by_name
    assert (matched["particles or tracks"], unmatched["particles or tracks"]) == (2442, 1296)
    assert matched["p · Δtx, median"] == pytest.approx(1.27, abs=0.02)
    assert matched["SciFi residuals, 68 %"] < 100 < unmatched["SciFi residuals, 68 %"]
    assert matched["SciFi hits of each"] > unmatched["SciFi hits of each"] > 11
    rows = CANDIDATES.open(paths["candidates"]).read().to_pandas()
    assert len(rows) == 3738
    assert set(rows.purity) == {0.0, 1.0}
    # Tracks that no particle made are measured separately, without a verdict.
    assert [one.table().splitlines()[-1] for one in seen] == [
        "verdict: doubtful",
        "not judged: no particle made these tracks",
    ]


def test_hits_go_to_one_kind_of_table(tmp_path, geometry, field):
    with pytest.raises(ParkfError, match="say --hits and --particles for particles, or --candidates"):
        take_entries(tmp_path, Run(field, -1, geometry), settle=lambda seen: None)
