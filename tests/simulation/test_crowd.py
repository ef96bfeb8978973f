"""The hits that a crowd adds, and secondaries from the beam pipe and the SciFi."""

import numpy as np
import pandas as pd
import pytest

from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES
from parkf.detector.transport import track_through
from parkf.io.tables import HITS
from parkf.simulation.generate.secondaries import ELECTRON_PULL, HADRON_PULL, SOURCES, secondaries
from parkf.simulation.response import crowd
from parkf.simulation.response.crowd import merge
from parkf.simulation.response.hits import NOISE, respond

from ..gun import shoot


@pytest.fixture(scope="module")
def states(field, geometry):
    particles = shoot(events=60, per_event=40, seed=21, p_range=(3e3, 1e5))
    return track_through(field, -1, geometry, particles, seed=5, threads=2)


@pytest.fixture(scope="module")
def both(states, geometry):
    """Hits without a crowd, and hits with a crowd."""
    return [pd.DataFrame(respond(states, geometry=geometry, seed=5, crowded=c)) for c in (False, True)]


def test_strangers_come_at_their_rate(both):
    plain, crowded = both
    for planes, of in ((UT_PLANES, crowd.UT), (SCIFI_PLANES, crowd.SCIFI)):
        real, before, after = (
            (hits.plane.isin(planes) & which).sum()
            for hits, which in (
                (plain, plain.particle != NOISE),
                (plain, plain.particle == NOISE),
                (crowded, crowded.particle == NOISE),
            )
        )
        most = real * (of.singles + of.stubs * of.length)
        # Stubs end with the last layer, and a stranger on a particle's hit does not make a separate hit.
        assert 0.3 * most < after - before < most


def test_clusters_of_several_have_one_place_and_a_row_each(both):
    _, crowded = both
    place = ["event", "plane", "x", "y", "z", "dxdy"]
    shared = crowded[crowded.duplicated(place, keep=False)]
    # Forty tracks over two halves of a few metres rarely have another track, or a stranger, so close.
    assert 0.001 < len(shared) / (crowded.particle != NOISE).sum() < 0.05
    assert (shared.particle != NOISE).all()
    assert not crowded.duplicated([*place, "particle"]).any()
    assert (shared.groupby(place).sigma.nunique() == 1).all()


def test_no_two_clusters_of_a_fibre_mat_are_close(both):
    _, crowded = both
    fibres = crowded[crowded.plane.isin(SCIFI_PLANES)].drop_duplicates(["event", "plane", "x", "y"])
    fibres = fibres.sort_values(["event", "plane", "y", "x"])
    apart = fibres.groupby(["event", "plane", "y"]).x.diff().dropna()
    # The means of clusters merged from three or more hits may be closer together than their ends.
    assert (apart < 0.5 * crowd.SCIFI.merged).mean() < 0.005


def test_hits_are_in_order_and_finite(both):
    _, crowded = both
    order = np.lexsort((crowded.x, crowded.plane, crowded.event))
    assert (order == np.arange(len(crowded))).all()
    assert list(crowded.columns) == HITS.schema.names
    assert np.isfinite(crowded.to_numpy(float)).all()


def test_tails_are_of_their_share(both, states, geometry):
    truth = pd.DataFrame(states).rename(columns={"x": "xt", "y": "yt"})
    _, crowded = both
    alone = crowded[~crowded.duplicated(["event", "plane", "x", "y"], keep=False)]
    near = alone.merge(truth[["event", "plane", "particle", "xt", "yt"]], on=["event", "plane", "particle"])
    (largest, share, width), *_ = crowd.SCIFI.tails
    scifi = near[near.plane.isin(SCIFI_PLANES)]
    scifi = scifi[scifi.sigma < np.hypot(largest, geometry.scifi.alignment_error)]
    off = np.abs(scifi.x + scifi.dxdy * scifi.yt - scifi.xt)
    far = (off > width).mean()
    # A third of the tail lies beyond its width, and almost none of the core; merged clusters add some.
    assert 0.2 * share < far < 2.0 * share


def test_hits_do_not_depend_on_which_events_come_together(states, geometry):
    whole = respond(states, geometry=geometry, seed=5, crowded=True)
    late = {name: values[states["event"] >= 30] for name, values in states.items()}
    part = respond(late, geometry=geometry, seed=5, crowded=True)
    assert all(np.array_equal(part[name], whole[name][whole["event"] >= 30]) for name in whole)


def test_close_hits_merge_and_distant_ones_do_not(geometry):
    plane = np.array([SCIFI_PLANES.start] * 4 + [VELO_PLANES.start] * 2, np.int16)
    hits = {
        "event": np.zeros(6, np.int32),
        "plane": plane,
        "particle": np.array([1, 2, 3, NOISE, 1, 2], np.int32),
        "x": np.array([10.0, 10.25, 12.0, 12.1, 5.0, 5.01]),
        "y": np.array([600.0, 600.0, 600.0, 600.0, 3.0, 4.0]),
        "z": np.zeros(6),
        "dxdy": np.zeros(6),
        "dzdy": np.zeros(6),
        "sigma": np.full(6, 0.085),
    }
    merged = merge(hits, geometry)
    rows = sorted(
        zip(merged["plane"].tolist(), merged["particle"].tolist(), merged["x"].round(6).tolist(), strict=True)
    )
    assert rows == [(0, 1, 5.0), (0, 2, 5.01), (58, 1, 10.125), (58, 2, 10.125), (58, 3, 12.05)]
    large = merged["sigma"][(merged["plane"] == 58) & (merged["x"] < 11)]
    assert np.allclose(large, geometry.scifi.hit_errors[crowd.LARGE_CLUSTER])


def test_pixels_merge_that_are_close_in_both_directions(geometry):
    apart = np.array([0.3, 0.6]) * crowd.VELO.merged
    hits = {
        "event": np.zeros(2, np.int32),
        "plane": np.full(2, VELO_PLANES.start, np.int16),
        "particle": np.array([1, 2], np.int32),
        **dict.fromkeys(("z", "dxdy", "dzdy"), np.zeros(2)),
        "sigma": np.full(2, 0.0125),
    }
    merged = merge(
        hits | {"x": 5.0 + np.array([0.0, apart[0]]), "y": np.array([3.0, 3.0 + apart[1]])}, geometry
    )
    np.testing.assert_allclose(merged["x"], 5.0 + apart[0] / 2)
    np.testing.assert_allclose(merged["y"], 3.0 + apart[1] / 2)


@pytest.mark.parametrize("way", [1.0, -1.0])
def test_pixels_at_one_x_far_apart_in_y_do_not_merge(geometry, way):
    x, y = np.array([5.0, 5.01]), np.array([3.0, 3.0 + 10.0 * way])
    hits = {"event": np.zeros(2, int), "plane": np.zeros(2, int), "particle": np.arange(2), "x": x, "y": y}
    hits |= {"z": np.zeros(2), "dxdy": np.zeros(2), "dzdy": np.zeros(2), "sigma": np.full(2, 0.0125)}
    np.testing.assert_array_equal(merge(hits, geometry)["y"], y)


def test_stubs_point_back_to_the_beam(geometry):
    """From layer to layer their distance from the beam grows as z does, on the other side of it."""
    count, middle = 20_000, SCIFI_PLANES[5]
    found = crowd.strangers(
        np.full(count, middle),
        np.full(count, 900.0),
        np.full(count, 700.0),
        geometry,
        np.random.default_rng(3),
    )
    plane, x, y = (np.concatenate([one[name] for one in found]) for name in ("plane", "x", "y"))
    assert (x < 0).mean() > 0.999
    assert (y < 0).mean() > 0.999
    z = geometry.planes()[:, 0]
    here, behind = (plane == middle), (plane == middle + 1)
    for values in (x, y):
        grown = np.median(values[behind]) / np.median(values[here])
        assert grown == pytest.approx(z[middle + 1] / z[middle], abs=0.02)


def test_a_stranger_is_seen_in_a_layer_and_not_in_its_hole_or_beside_it(geometry):
    ut, scifi = UT_PLANES[1], SCIFI_PLANES[3]
    hole = geometry.scifi.hole
    places = [
        (ut, 300.0, -300.0, True),
        (ut, 800.0, 0.0, False),
        (ut, 0.0, -700.0, False),
        (scifi, 2500.0, 2000.0, True),
        (scifi, -5000.0, 0.0, False),
        (scifi, 0.0, 2500.0, False),
        (scifi, 0.9 * hole.half_width, -0.9 * hole.half_height, False),
        (scifi, 1.1 * hole.half_width, 0.9 * hole.half_height, True),
        (scifi, 0.9 * hole.half_width, 1.1 * hole.half_height, True),
        # The same places in the UT are seen if they are outside its own hole.
        (ut, 0.9 * geometry.ut.hole.half_width, 0.0, False),
        (VELO_PLANES[20], 1.0, 1.0, True),
    ]
    plane, x, y, expected = (np.array(column) for column in zip(*places, strict=True))
    assert crowd._sees(plane, np.stack([x, y]), geometry).tolist() == expected.tolist()


def _particles(collisions):
    """A hundred particles from the origin in each collision, with px = 0.2 GeV and pz = 4 GeV."""
    count = 100 * collisions
    return {
        "collision": np.repeat(np.arange(collisions), 100),
        **{name: np.zeros(count) for name in ("x", "y", "z", "py")},
        "px": np.full(count, 200.0),
        "pz": np.full(count, 4000.0),
    }


def test_secondaries_fly_away_from_the_beam_with_a_pull_in_either_direction():
    """Slopes are those of the line from the origin, apart from a transverse momentum in x and in y."""
    count, found = 60_000, secondaries(_particles(600), np.random.Generator(np.random.Philox(5)))
    p = np.sqrt(found["px"] ** 2 + found["py"] ** 2 + found["pz"] ** 2)
    electron = np.abs(found["pdg_id"]) == 11
    for axis in "xy":
        pull = (found[f"p{axis}"] / found["pz"] - found[axis] / found["z"]) * p
        for kind, width in ((electron, ELECTRON_PULL), (~electron, HADRON_PULL)):
            error = width / np.sqrt(kind.sum())
            assert pull[kind].mean() == pytest.approx(0.0, abs=5 * error)
            assert pull[kind].std() == pytest.approx(width, abs=5 * error)
    # Photons (22) make electrons, pions (211) make hadrons.
    assert set(found["mother"][electron]) == {22}
    assert set(found["mother"][~electron]) == {211}
    # For each charged particle there are 0.363 secondaries in front of 6.6 m, and 0.714 behind.
    front = found["z"] < 6600.0
    for number, rate in ((front.sum(), 0.363), ((~front).sum(), 0.714)):
        assert number / count == pytest.approx(rate, abs=5 * np.sqrt(rate / count))
    assert (found["z"] < 3200.0).sum() / count == pytest.approx(0.14, abs=5 * np.sqrt(0.14 / count))
    # They begin at either side of the beam alike.
    for axis in "xy":
        assert np.mean(found[axis] > 0) == pytest.approx(0.5, abs=5 * 0.5 / np.sqrt(len(p)))


def test_secondaries_come_at_their_rate_from_where_they_should():
    count, found = 40_000, secondaries(_particles(400), np.random.Generator(np.random.Philox(3)))
    for source in SOURCES:
        here = (found["z"] >= source.z[0]) & (found["z"] < source.z[1])
        expected = source.rate * count
        assert abs(here.sum() - expected) < 5 * np.sqrt(expected)
        electron = np.abs(found["pdg_id"]) == 11
        assert abs(electron[here].mean() - source.electrons) < 5 * np.sqrt(0.25 / expected)
        p = np.sqrt(found["px"] ** 2 + found["py"] ** 2 + found["pz"] ** 2)
        median, width = source.electron
        spread = 1.2533 * width / np.sqrt(source.electrons * expected)
        assert abs(np.log(np.median(p[here & electron]) / median)) < 5 * spread
        # Outside of the pipe, 15.87 % of a log-normal distribution is beyond its width.
        far = np.hypot(found["x"], found["y"])[here] > source.radius * np.exp(source.spread)
        share = 0.1587 * (1 - source.pipe)
        assert far.mean() == pytest.approx(share, abs=4 * np.sqrt(share / expected))
    assert (
        np.sign(found["pdg_id"]) == np.where(np.abs(found["pdg_id"]) == 11, -1, 1) * found["charge"]
    ).all()


def test_secondary_hadrons_are_pions_and_some_protons():
    """Three in ten hadrons are protons, which are positive. Momenta are some GeV, lower further behind."""
    found = secondaries(_particles(400), np.random.Generator(np.random.Philox(3)))
    hadron = np.abs(found["pdg_id"]) != 11
    assert set(np.abs(found["pdg_id"][hadron])) == {211, 2212}
    proton = np.abs(found["pdg_id"]) == 2212
    assert (found["charge"][proton] == 1).all()
    share = proton.sum() / hadron.sum()
    assert share == pytest.approx(0.3, abs=4 * np.sqrt(0.21 / hadron.sum()))
    p = np.sqrt(found["px"] ** 2 + found["py"] ** 2 + found["pz"] ** 2)
    for low, high in ((2700, 3200), (3200, 4200), (4200, 6600), (6600, 7700), (7700, 8100)):
        here = (found["z"] > low) & (found["z"] < high)
        assert 250 < np.median(p[here & ~hadron]) < 8000
        assert 700 < np.median(p[here & hadron]) < 5000
