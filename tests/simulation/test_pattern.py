import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parkf.simulation.particles import HARDEST
from parkf.simulation.pattern import candidates as module
from parkf.simulation.pattern import find_candidates
from parkf.simulation.pattern.candidates import majority
from parkf.simulation.pattern.velo import Z_REFERENCE, find_velo_segments, fit_lines


def test_velo_lines_scatter_as_in_allen():
    """The first of three hits also has the second module's scattering, 1e-8 + 7e-6 (tx² + ty²) in Allen."""
    z, points = np.array([0.0, 100.0, 200.0]), np.array([[0.0, 0.0], [20.0, 10.1], [40.0, 20.0]])
    line = fit_lines(points[None], z[None], np.array([3]))[0]
    angle2 = 1e-8 + 7e-6 * (0.2**2 + 0.1**2)
    error = np.sqrt([0.0125**2 + 100.0**2 * angle2, 0.0125**2, 0.0125**2])
    for axis in range(2):
        slope, x = np.polyfit(z - Z_REFERENCE, points[:, axis], 1, w=1 / error)
        assert line[axis::2] == pytest.approx([x, slope], rel=1e-5)


@pytest.mark.parametrize("matched", [False, True])
@pytest.mark.parametrize("events", [1, 7])
def test_pieces_do_not_change_a_number(tmp_path, monkeypatch, geometry, field, collisions, events, matched):
    paths = [tmp_path / "one.parquet", tmp_path / "other.parquet"]
    monkeypatch.setattr(module, "_HITS_PER_CHUNK", 0)
    for path in paths:
        find_candidates(
            collisions.paths["hits"],
            path,
            geometry=geometry,
            field=field,
            polarity=-1,
            workers=1,
            matched=matched,
        )
        monkeypatch.setattr(module, "EVENTS_PER_CHUNK", events)
    one, other = (pq.read_table(path) for path in paths)
    for name in one.column_names:
        a, b = (table[name].combine_chunks() for table in (one, other))
        a, b = (v.flatten() if pa.types.is_fixed_size_list(v.type) else v for v in (a, b))
        np.testing.assert_array_equal(a.to_numpy(), b.to_numpy())


@pytest.fixture(scope="module")
def candidates(collisions):
    """Candidates with the truth of their majority particles."""
    frame = collisions.candidates.merge(collisions.particles, on=["event", "particle"], how="left")
    frame["p"] = np.sqrt(frame.px**2 + frame.py**2 + frame.pz**2)
    frame["ghost"] = frame.purity < 0.7
    return frame


def test_ghosts_arise_at_the_rate_of_the_experiment(candidates):
    assert 0.08 < candidates.ghost.mean() < 0.20


def test_most_long_tracks_are_found(collisions, candidates):
    hits = collisions.hits[collisions.hits.particle >= 0]
    in_velo = hits[hits.plane < 52].groupby(["event", "particle"]).plane.nunique() >= 3
    in_scifi = hits[hits.plane > 57].groupby(["event", "particle"]).plane.nunique() >= 9
    long = in_velo[in_velo].index.intersection(in_scifi[in_scifi].index)
    particles = collisions.particles.set_index(["event", "particle"]).loc[long]
    fast = particles[particles.px**2 + particles.py**2 + particles.pz**2 > 2000.0**2].index
    found = candidates[~candidates.ghost].set_index(["event", "particle"]).index
    # The search does not look for the kink of an elastic scattering off a nucleus.
    straight = collisions.fates.set_index(["event", "particle"]).hardest.loc[fast] < HARDEST
    assert fast[straight].isin(found).mean() > 0.9
    assert 0.02 < 1 - straight.mean() < 0.1


def test_seed_momentum_is_good_to_a_percent(candidates):
    genuine = candidates[~candidates.ghost & (candidates.p > 3000)]
    relative = genuine.qop * genuine.p / genuine.charge - 1
    low, middle, high = np.quantile(relative, [0.1587, 0.5, 0.8413])
    assert (high - low) / 2 < 0.012
    assert abs(middle) < 0.008


def test_hits_of_a_candidate_are_in_order_and_counted(candidates):
    z = np.stack(candidates.velo_z)
    used = np.isfinite(z)
    assert np.array_equal(used.sum(1), candidates.velo_n)
    assert (np.arange(z.shape[1]) < candidates.velo_n.to_numpy()[:, None])[used].all()
    assert (np.diff(z, axis=1)[used[:, 1:]] > 0).all()
    assert (np.isfinite(np.stack(candidates.scifi_x)).sum(1) >= 9).all()
    scifi_z = np.stack(candidates.scifi_z)
    assert (np.diff(scifi_z, axis=1)[np.isfinite(np.diff(scifi_z, axis=1))] > 0).all()
    missing = np.isnan(np.stack(candidates.ut_x))
    for name in ("ut_z", "ut_dxdy", "ut_sigma"):
        assert np.array_equal(np.isnan(np.stack(candidates[name])), missing)


def test_genuine_tracks_have_their_ut_hits(candidates):
    # Beyond eta = 4.9 tracks pass the hole around the beam pipe.
    genuine = candidates[~candidates.ghost & (candidates.p > 3000)]
    inside = genuine[np.arctanh(genuine.pz / genuine.p) < 4.7]
    assert ((np.isfinite(np.stack(inside.ut_x)).sum(1)) >= 3).mean() > 0.93
    assert inside.purity.mean() > 0.97


def test_the_nearer_hit_is_taken_whoever_it_belongs_to():
    z = np.array([0.0, 100.0, 200.0, 300.0])
    hits = {
        "event": np.zeros(5, np.int32),
        "plane": np.array([0, 10, 20, 30, 20], np.int16),
        "particle": np.array([7, 7, 7, 7, -1], np.int32),
        "x": np.array([1.0, 2.0, 3.05, 4.0, 3.01]),
        "y": np.zeros(5),
        "z": np.append(z, 200.0),
    }
    segments = find_velo_segments(hits)
    assert len(segments.event) == 1
    assert segments.hits[0, :4].tolist() == [0, 1, 4, 3]
    assert (segments.hits[0, 4:] == -1).all()
    assert abs(segments.lines[0, 2] - 0.01) < 1e-4
    assert abs(segments.lines[0, 0] - (1 + 0.01 * Z_REFERENCE)) < 0.1


def test_two_hits_make_no_velo_segment():
    hits = {
        "event": np.zeros(2, np.int32),
        "plane": np.array([0, 10], np.int16),
        "particle": np.zeros(2, np.int32),
        **{name: np.zeros(2) for name in "xy"},
        "z": np.array([0.0, 100.0]),
    }
    assert len(find_velo_segments(hits).event) == 0


def test_majority_counts_hits():
    particle = np.array([4, 4, 5, -1, -1, -1, 9])
    hits = np.array([[0, 1, 2, 3], [3, 4, 5, -1], [6, 2, 2, -1]])
    owner, share = majority(particle, hits)
    assert owner.tolist() == [4, -1, 5]
    assert np.allclose(share, [0.5, 0.0, 2 / 3])
