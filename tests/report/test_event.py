"""An event of a made-up run: straight tracks without a field, whose hits and paths are known."""

import numpy as np
import pyarrow as pa
import pytest

from parkf.detector.field import FieldMap
from parkf.io.errors import ParkfError
from parkf.io.tables import CANDIDATES, FITTED, HITS, PARTICLES
from parkf.report.event import PLANES, hit_places, load_event

# Slopes and charges of the particles, which come from the origin with 5 GeV, and their purities.
TX, TY, CHARGE = np.array([0.1, -0.05]), np.array([0.02, 0.04]), np.array([1.0, -1.0])
VELO_Z, STRIP_Z, STEREO = np.array([100.0, 200.0, 300.0]), np.array([7826.0, 7896.0]), np.array([0.0, 0.0875])
SHIFT = 0.5  # mm; so far is the fit of the first track from the truth, in x


def _write(table, path, columns):
    count = len(columns["event"])
    arrays = []
    for name, kind in table.columns:
        values = columns.get(name)
        if pa.types.is_fixed_size_list(kind):
            rows = np.full((count, kind.list_size), np.nan, np.float32)
            if values is not None:
                rows[:, : values.shape[1]] = values
            flat = pa.array(rows.ravel()).cast(kind.value_type)
            arrays.append(pa.FixedSizeListArray.from_arrays(flat, type=kind))
        else:
            arrays.append(pa.array(np.zeros(count) if values is None else values).cast(kind))
    path.parent.mkdir(parents=True, exist_ok=True)
    with table.writer(path) as writer:
        writer.write_table(pa.Table.from_arrays(arrays, schema=table.schema))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    pz = 5000.0 / np.sqrt(1 + TX**2 + TY**2)
    zero, two = np.zeros(2), np.arange(2)
    event = np.full(2, 3)
    x, y = (slope[:, None] * np.concatenate([VELO_Z, STRIP_Z]) for slope in (TX, TY))
    strip_x = x[:, 3:] - STEREO * y[:, 3:]
    name = "validation_up.parquet"
    _write(
        PARTICLES,
        folder / "particles" / name,
        {"event": event, "particle": two, "charge": CHARGE, "px": TX * pz, "py": TY * pz, "pz": pz},
    )
    wrong = strip_x.copy()
    # The second track has a strip of no particle, two millimetres beside its own.
    wrong[1, 1] += 2.0
    _write(
        CANDIDATES,
        folder / "candidates" / name,
        {
            **{"event": event, "candidate": two, "polarity": zero + 1, "qop": CHARGE / 5000.0},
            **{"particle": two, "purity": np.array([1.0, 0.6]), "velo_n": zero + 3},
            **{"velo_x": x[:, :3], "velo_y": y[:, :3], "velo_z": np.tile(VELO_Z, (2, 1))},
            **{"scifi_x": wrong, "scifi_z": np.tile(STRIP_Z, (2, 1)), "scifi_dxdy": np.tile(STEREO, (2, 1))},
            "scifi_sigma": np.full((2, 2), 0.1),
        },
    )
    _write(
        FITTED,
        folder / "fitted/parkf" / name,
        {
            **{"event": event, "candidate": two, "x": np.array([SHIFT, 0.0]), "tx": TX, "ty": TY},
            **{"qop": CHARGE / np.array([4000.0, 8000.0]), "chi2_velo": zero + 3.0, "ndof_velo": zero + 2},
            **{"chi2_scifi": zero + 4.0, "ndof_scifi": zero + 1},
        },
    )
    hits = {
        "event": np.full(10, 3),
        "plane": np.tile([30, 31, 32, 58, 59], 2),
        "particle": np.repeat(two, 5),
        "x": np.concatenate([x[:, :3], strip_x], axis=1).ravel(),
        "y": np.concatenate([y[:, :3], np.full((2, 2), 50.0)], axis=1).ravel(),
        "z": np.tile(np.concatenate([VELO_Z, STRIP_Z]), 2),
        "dxdy": np.tile([0, 0, 0, *STEREO], 2),
    }
    _write(HITS, folder / "hits" / name, hits)
    FieldMap(np.full(3, -1e4), np.full(3, 1e3), np.zeros((21, 21, 21, 3), np.float32)).save(
        folder / "field.npz"
    )
    return folder


@pytest.fixture(scope="module")
def event(run):
    return load_event(run)


def test_an_event_has_the_numbers_of_its_files(event):
    assert (event.sample, event.number) == ("validation_up", 3)
    first, second = event.tracks
    assert (first.p, second.p) == pytest.approx((4.0, -8.0))
    assert first.chi2 == second.chi2 == pytest.approx(7 / 3)
    assert (first.ghost, second.ghost) == (False, True)
    assert first.own.tolist() == [True] * 5
    assert second.own.tolist() == [True] * 4 + [False]
    # A strip's hit is drawn in the strip's middle, here at y = 50 mm.
    strips = event.hits[event.hits[:, 2] == STRIP_Z[1]]
    np.testing.assert_allclose(strips[:, 0], (TX - STEREO[1] * TY) * STRIP_Z[1] + 50.0 * STEREO[1])


def test_paths_begin_at_the_state_and_are_straight_without_a_field(event):
    ahead = PLANES >= 0
    for i, track in enumerate(event.tracks):
        shift = SHIFT if i == 0 else 0.0
        for path, x0, p in ((track.truth, 0.0, CHARGE[i] * 5000.0), (track.fit, shift, 1000 * track.p)):
            assert np.isnan(path[~ahead]).all()
            np.testing.assert_allclose(path[ahead, 0], x0 + TX[i] * PLANES[ahead], atol=1e-3)
            np.testing.assert_allclose(path[ahead, 1], TY[i] * PLANES[ahead], atol=1e-3)
            np.testing.assert_allclose(path[ahead, 4], 1 / p, rtol=1e-6)


def test_a_path_has_points_at_every_place_that_bends_or_measures():
    """From before the VELO to behind the SciFi, at most a quarter of a metre apart."""
    assert PLANES[0] <= -200.0
    assert PLANES[-1] >= 9400.0
    steps = np.diff(PLANES)
    assert (steps > 0).all()
    assert steps.max() <= 250.0


def test_an_event_that_is_not_there_is_named(run):
    with pytest.raises(ParkfError, match="no event 4"):
        load_event(run, number=4)
    with pytest.raises(ParkfError, match="no event 2"):
        load_event(run, number=2)


def test_hits_of_a_track_lie_beside_its_fit(event):
    one, other = event.tracks
    z, measured, fitted = hit_places(one)
    np.testing.assert_allclose(z, np.concatenate([VELO_Z, STRIP_Z]))
    np.testing.assert_allclose(measured - fitted, -SHIFT, atol=2e-3)
    # The wrong strip of the other track is two millimetres beside its fit.
    z, measured, fitted = hit_places(other)
    wrong = ~other.own
    assert (z[wrong], (measured - fitted)[wrong]) == (pytest.approx([7896]), pytest.approx([2.0], abs=2e-3))


def test_an_event_of_a_run_without_hits_has_those_of_its_tracks(run, tmp_path):
    """Members of a family share the hits of another run."""
    for folder in ("candidates", "fitted", "particles", "field.npz"):
        (tmp_path / folder).symlink_to(run / folder)
    event = load_event(tmp_path)
    assert len(event.hits) == sum(len(track.velo) + len(track.strips) for track in event.tracks) == 10
    # The first track is shifted in its fit; its hits are where they were measured.
    np.testing.assert_allclose(event.hits[:3, 0], TX[0] * VELO_Z, atol=1e-3)
