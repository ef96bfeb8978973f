import numpy as np
import pytest

from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES
from parkf.detector.transport import track_through
from parkf.simulation.response.hits import NOISE, UT_STRIP_LENGTH, respond

from ..gun import shoot


@pytest.fixture(scope="module")
def states(field, geometry):
    particles = shoot(events=60, per_event=40, seed=21, p_range=(3e3, 1e5))
    return track_through(field, -1, geometry, particles, seed=5, threads=2)


@pytest.fixture(scope="module")
def matched(states, geometry):
    """Hits of particles, each with its true crossing."""
    import pandas as pd

    hits = pd.DataFrame(respond(states, geometry=geometry, seed=5))
    truth = pd.DataFrame(states).rename(columns={"x": "xt", "y": "yt", "z": "zt"})
    return hits, hits.merge(truth, on=["event", "particle", "plane"])


def _core(values):
    low, high = np.quantile(values, [0.1587, 0.8413])
    return (high - low) / 2


def test_velo_hits_scatter_by_the_resolution(matched, geometry):
    velo = matched[1][matched[1].plane < UT_PLANES.start]
    for axis in "xy":
        residual = velo[axis] - velo[axis + "t"]
        assert abs(residual.std() / geometry.velo.resolution - 1) < 0.02
        assert abs(residual.mean()) < 3 * geometry.velo.resolution / np.sqrt(len(velo))


@pytest.mark.parametrize("planes", [UT_PLANES, SCIFI_PLANES], ids=["UT", "SciFi"])
def test_strips_pass_the_track_within_their_error(matched, planes, geometry):
    hits = matched[1][matched[1].plane.isin(planes)]
    place = geometry.scifi.alignment_error if planes == SCIFI_PLANES else 0.0
    pull = (hits.x + hits.dxdy * hits.yt - hits.xt) / np.sqrt(hits.sigma**2 - place**2)
    assert abs(pull.std() - 1) < 0.02
    assert abs(pull.mean()) < 3 / np.sqrt(len(hits))
    assert np.allclose(hits.z + hits.dzdy * hits.yt, hits.zt, atol=1e-6)


def test_errors_are_those_of_the_geometry(matched, geometry):
    hits = matched[1]
    ut = hits[hits.plane.isin(UT_PLANES)]
    assert set(ut.sigma.round(6)) <= {round(zone.sigma, 6) for zone in geometry.ut.zones}
    assert ut[np.hypot(ut.xt, ut.yt) < 150].sigma.nunique() == 1
    scifi = hits[hits.plane.isin(SCIFI_PLANES)].sigma
    shares: dict[float, float] = {}
    for error, share in zip(geometry.scifi.hit_errors, geometry.scifi.cluster_fractions, strict=True):
        shares[error] = shares.get(error, 0.0) + share
    for error, share in shares.items():
        assert abs(np.isclose(scifi, error).mean() - share) < 4 * np.sqrt(share / len(scifi))


def test_strips_are_as_wide_below_the_beam_as_above(matched, geometry):
    hits = matched[1][matched[1].plane.isin(UT_PLANES)]
    inner = geometry.ut.zones[0]
    beside = (hits.xt.abs() < 0.9 * inner.half_width) & (hits.yt.abs() > 1.1 * inner.half_height)
    for side in (hits.yt > 0, hits.yt < 0):
        assert (beside & side).sum() > 50
        assert hits.sigma[beside & side].min() > inner.sigma


def test_efficiency(states, matched, geometry):
    for planes, efficiency in (
        (range(UT_PLANES.start), geometry.velo.efficiency),
        (UT_PLANES, geometry.ut.efficiency),
        (SCIFI_PLANES, geometry.scifi.efficiency),
    ):
        crossed = (np.isin(states["plane"], planes) & states["active"]).sum()
        seen = matched[1].plane.isin(planes).sum() / crossed
        assert abs(seen - efficiency) < 4 * np.sqrt(efficiency * (1 - efficiency) / crossed)


def test_a_strip_knows_its_height_to_a_row_or_a_half(matched):
    hits = matched[1]
    ut = hits[hits.plane.isin(UT_PLANES)]
    assert ((ut.y - ut.yt).abs() <= UT_STRIP_LENGTH / 2 + 1e-9).all()
    scifi = hits[hits.plane.isin(SCIFI_PLANES)]
    assert (np.sign(scifi.y) == np.sign(scifi.yt)).all()


def test_noise_comes_at_its_rate_and_where_hits_are(matched, geometry):
    hits = matched[0]
    noise = hits[(hits.particle == NOISE) & hits.plane.isin(SCIFI_PLANES)]
    expected = 60 * len(SCIFI_PLANES) * geometry.scifi.noise_per_layer
    assert abs(len(noise) - expected) < 5 * np.sqrt(expected)
    assert noise.x.abs().max() < geometry.scifi.layers[-1].half_width + 300


def test_noise_lies_opposite_the_hits_that_it_follows(states, geometry):
    """Noise is not close to the hit that it follows, where it would help the search find the track."""
    one_corner = (states["x"] > 100) & (states["y"] > 100)
    hits = respond({name: values[one_corner] for name, values in states.items()}, geometry=geometry, seed=5)
    noise = (hits["particle"] == NOISE) & np.isin(hits["plane"], SCIFI_PLANES)
    assert noise.sum() > 100
    assert (hits["y"][noise] < 0).mean() > 0.9
    assert (hits["x"][noise] + hits["dxdy"][noise] * hits["y"][noise] < 0).mean() > 0.9


def test_an_aligned_plane_moves_its_hits(states, geometry):
    from parkf.detector.alignment import Alignment, Displacement

    nothing = {"tag": "t", "velo_halves": {}, "velo_modules": {}, "ut_layers": {}}
    moved = geometry.align(Alignment(**nothing, scifi_layers={3: Displacement(z=2.0, rz=0.001)}))
    here, there = respond(states, geometry=geometry, seed=5), respond(states, geometry=moved, seed=5)
    layer = there["plane"] == SCIFI_PLANES[3]
    assert np.allclose(there["dxdy"][layer], -np.tan(0.001), atol=1e-6)
    assert np.allclose(there["z"][layer] - here["z"][here["plane"] == SCIFI_PLANES[3]].mean(), 2.0, atol=0.02)


def test_no_states_no_hits(states, geometry):
    none = respond({name: values[:0] for name, values in states.items()}, geometry=geometry, seed=1)
    assert all(len(values) == 0 for values in none.values())
