"""Fits and truth are joined event by event, from one file or several, and thinned beyond a number."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from parkf.detector.field import FieldMap
from parkf.fit.sample import drawn, load_sample
from parkf.fit.truth import EVENTS_AT_ONCE, Files
from parkf.io.errors import ParkfError
from parkf.io.tables import CANDIDATES, FATES, FITTED, PARTICLES

SEED = 17
EVENTS = 3 * EVENTS_AT_ONCE
TABLES = {"particles": PARTICLES, "candidates": CANDIDATES, "fitted": FITTED, "fates": FATES}


def made(events=EVENTS):
    """Tables of some events with two to five candidates each; one candidate in six is noise alone."""
    print(f"seed {SEED}")
    random = np.random.default_rng(SEED)
    particles = pd.DataFrame(
        {"event": np.repeat(np.arange(events), 6), "particle": np.tile(np.arange(6), events)}
    )
    for name, width in (("x", 1.0), ("y", 1.0), ("z", 50.0), ("px", 2e3), ("py", 2e3)):
        particles[name] = random.normal(0, width, len(particles))
    particles["pz"] = random.uniform(5e3, 5e4, len(particles))
    particles["charge"] = random.choice([-1, 1], len(particles))
    particles["pdg_id"] = 211 * particles.charge
    particles["z_end"] = random.choice([3e3, np.inf], len(particles))
    fates = particles[["event", "particle"]].assign(hardest=random.exponential(2.0, len(particles)))
    count = random.integers(2, 6, events)
    found = pd.DataFrame({"event": np.repeat(np.arange(events), count)})
    found["candidate"] = found.groupby("event").cumcount()
    found["particle"] = random.integers(-1, 5, len(found))
    found["purity"] = random.uniform(0.4, 1.0, len(found))
    found["qop"] = random.normal(0, 1e-4, len(found))
    found["velo_n"] = random.integers(3, 12, len(found))
    fitted = found[["event", "candidate"]].copy()
    for name in ("z", "x", "y", "qop", "chi2_ut"):
        fitted[name] = random.normal(size=len(fitted))
    return {"particles": particles, "candidates": found, "fitted": fitted, "fates": fates}


def write(frame, table, path):
    """Write a table; columns that a frame lacks are zero, and lists hold four, five or six hits in turn."""
    columns = {}
    for name, kind in table.columns:
        if pa.types.is_fixed_size_list(kind):
            place = np.arange(kind.list_size)
            hits = np.where(place < 4 + (np.arange(len(frame)) % 3)[:, None], 1.0, np.nan)
            columns[name] = pa.FixedSizeListArray.from_arrays(
                pa.array(hits.ravel(), pa.float32()), kind.list_size
            )
        else:
            columns[name] = pa.array(frame[name] if name in frame else np.zeros(len(frame))).cast(
                kind, safe=False
            )
    with table.writer(path) as writer:
        writer.write_table(pa.table(columns, schema=table.schema))
    return path


def write_all(frames, folder):
    folder.mkdir()
    return {name: write(frame, TABLES[name], folder / f"{name}.parquet") for name, frame in frames.items()}


@pytest.fixture(scope="module")
def frames():
    return made()


def expected(frames):
    """Join tables as a whole."""
    rows = frames["candidates"].merge(frames["fitted"], on=["event", "candidate"], suffixes=("_seed", ""))
    return rows.merge(
        frames["particles"], how="left", on=["event", "particle"], suffixes=("", "_vertex")
    ).merge(frames["fates"], how="left", on=["event", "particle"])


def test_truth_is_that_of_the_particle(frames, tmp_path):
    rows = load_sample([Files(**write_all(frames, tmp_path / "one"))]).rows
    whole = expected(frames)
    assert len(rows) == len(whole)
    slope = whole.px / whole.pz
    np.testing.assert_allclose(rows["true_tx"], slope)
    way = rows["z"] - whole.z_vertex
    np.testing.assert_allclose(rows["true_x"], whole.x_vertex + slope * way, rtol=1e-12)
    np.testing.assert_allclose(rows["true_ty"], whole.py / whole.pz)
    np.testing.assert_allclose(rows["true_y"], whole.y_vertex + whole.py / whole.pz * way, rtol=1e-12)
    momentum = np.sqrt(np.square(whole[["px", "py", "pz"]]).sum(axis=1, skipna=False))
    np.testing.assert_allclose(rows["p_true"], momentum)
    np.testing.assert_allclose(rows["true_qop"] * momentum, whole.charge)
    np.testing.assert_array_equal(rows["true_z"], whole.z_vertex)
    np.testing.assert_allclose(rows["born"], np.hypot(whole.x_vertex, whole.y_vertex), rtol=1e-6)
    np.testing.assert_array_equal(rows["z_end"], whole.z_end)
    np.testing.assert_array_equal(rows["pdg_id"], whole.pdg_id.fillna(0))
    np.testing.assert_array_equal(rows["hardest"], whole.hardest.astype(np.float32))
    np.testing.assert_array_equal(rows["qop"], whole.qop.astype(np.float32))
    np.testing.assert_array_equal(rows["seed_qop"], whole.qop_seed.astype(np.float32))
    np.testing.assert_array_equal(rows["ut_n"], 4)
    np.testing.assert_array_equal(rows["scifi_n"], 4 + np.arange(len(whole)) % 3)
    assert np.isnan(rows["p_true"][whole.particle == -1]).all()


@pytest.mark.parametrize("polarity", [-1, 1])
def test_in_a_field_the_truth_is_on_a_circle(frames, tmp_path, polarity):
    """In a uniform field along y, px changes by -0.3 q By dz (MeV, T, mm), and |p| and py stay."""
    by = 0.8  # T, in MagDown
    values = np.zeros((2, 2, 2, 3), np.float32)
    values[..., 1] = by
    field = FieldMap(np.array([-900.0] * 3), np.array([1800.0] * 3), values)
    found = frames["candidates"].assign(polarity=polarity)
    fitted = frames["fitted"].assign(z=400 * frames["fitted"].z.clip(-2, 2))
    files = [Files(**write_all({**frames, "candidates": found, "fitted": fitted}, tmp_path / "bent"))]
    rows, straight = load_sample(files, field).rows, load_sample(files).rows
    known = np.isfinite(rows["p_true"])
    assert 800 < known.sum() < len(rows)
    whole = expected({**frames, "candidates": found, "fitted": fitted})[known]
    turn = -polarity * 0.299792458 * whole.charge * by
    p_xz = np.hypot(whole.px, whole.pz)
    px = whole.px - turn * (rows["z"][known] - whole.z_vertex)
    pz = np.sqrt(p_xz**2 - px**2)
    y = whole.y_vertex + whole.py / turn * (np.arcsin(whole.px / p_xz) - np.arcsin(px / p_xz))
    np.testing.assert_allclose(rows["true_tx"][known], px / pz, atol=1e-8)
    np.testing.assert_allclose(rows["true_ty"][known], whole.py / pz, atol=1e-8)
    np.testing.assert_allclose(rows["true_x"][known], whole.x_vertex + (pz - whole.pz) / turn, atol=2e-3)
    np.testing.assert_allclose(rows["true_y"][known], y, atol=2e-3)
    for name in ("true_z", "born", "true_qop", "p_true"):
        np.testing.assert_array_equal(rows[name], straight[name])


def test_outside_the_field_map_the_truth_is_on_a_line(frames, tmp_path):
    field = FieldMap(np.full(3, 5e3), np.full(3, 100.0), np.ones((2, 2, 2, 3), np.float32))
    frames = {**frames, "candidates": frames["candidates"].assign(polarity=-1)}
    files = [Files(**write_all(frames, tmp_path / "outside"))]
    for name in ("true_x", "true_tx"):
        np.testing.assert_array_equal(load_sample(files, field).rows[name], load_sample(files).rows[name])


def test_samples_are_numbered(frames, tmp_path):
    files = Files(**write_all(frames, tmp_path / "one"))
    rows = load_sample([files, files]).rows
    assert len(rows[rows["file"] == 1]) == len(frames["fitted"])


def test_without_fates_nothing_is_known_of_them(frames, tmp_path):
    files = write_all(frames, tmp_path / "one") | {"fates": None}
    assert np.isnan(load_sample([Files(**files)]).rows["hardest"]).all()


def test_a_particle_without_a_fate_leaves_the_others_theirs(frames, tmp_path):
    """This is the last particle of all, so no rows follow it in the table."""
    last = len(frames["fates"]) - 6 + 4
    found = frames["candidates"].assign(particle=4)
    cut = frames | {"candidates": found, "fates": frames["fates"].iloc[:last]}
    hardest = load_sample([Files(**write_all(cut, tmp_path / "one"))]).rows["hardest"]
    in_last = (found.event == EVENTS - 1).to_numpy()
    np.testing.assert_array_equal(np.isnan(hardest), in_last)


def test_events_are_drawn_by_the_published_generator():
    """The first numbers of SplitMix64 from a seed of zero (Vigna's splitmix64.c)."""
    expected = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    np.testing.assert_allclose(drawn(np.arange(3, dtype=np.int32)) * 2.0**64, expected, rtol=1e-15)


def test_many_candidates_are_thinned_by_whole_events(frames, tmp_path, monkeypatch):
    files = Files(**write_all(frames, tmp_path / "one"))
    whole = load_sample([files]).rows
    most = len(whole) // 3
    monkeypatch.setattr("parkf.fit.sample.MOST", most)
    thinned = load_sample([files]).rows
    assert len(thinned) == pytest.approx(most, rel=0.15)
    taken = np.isin(whole["event"], np.unique(thinned["event"]))
    for name in ("event", "true_qop", "x"):
        np.testing.assert_array_equal(thinned[name], whole[taken][name])


def test_fits_of_other_candidates_are_refused(frames, tmp_path):
    files = write_all(frames, tmp_path / "one")
    for wrong in (frames["fitted"].iloc[:-1], frames["fitted"].assign(candidate=0)):
        path = write(wrong, FITTED, tmp_path / "wrong.parquet")
        with pytest.raises(
            ParkfError, match=r"its rows are not those of .*candidates\.parquet; fit this file"
        ):
            load_sample([Files(**files | {"fitted": path})])


def test_an_empty_sample_is_refused(frames, tmp_path):
    files = write_all({name: frame.iloc[:0] for name, frame in frames.items()}, tmp_path / "none")
    with pytest.raises(ParkfError, match="no candidates"):
        load_sample([Files(**files)])


def test_pieces_do_not_change_a_row(frames, tmp_path, monkeypatch):
    monkeypatch.setattr("parkf.fit.truth.EVENTS_AT_ONCE", 1)
    files = [Files(**write_all(frames, tmp_path / "one"))]
    samples = []
    for candidates in (0, 10**6):
        monkeypatch.setattr("parkf.fit.truth._CANDIDATES_AT_ONCE", candidates)
        samples.append(load_sample(files).rows)
    one, other = samples
    assert one._kinds == other._kinds
    for name in one._kinds:
        np.testing.assert_array_equal(one[name], other[name])
