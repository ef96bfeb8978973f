"""The search for tracks without VELO hits, in what long tracks leave over."""

import numpy as np
import pytest

from parkf.detector.transport import track_through
from parkf.io.kinds import KINDS
from parkf.simulation.pattern.candidates import Search, share_of
from parkf.simulation.pattern.magnet import fit_magnet_model
from parkf.simulation.pattern.velo import Z_REFERENCE
from parkf.simulation.response.hits import respond

from ..gun import shoot

PURE = 0.7
BORN = 1200.0  # mm, behind the VELO


@pytest.fixture(scope="module")
def magnet(field, geometry):
    return fit_magnet_model(field, geometry)


@pytest.fixture(scope="module")
def search(geometry, magnet):
    return Search(geometry, magnet, polarity=-1)


@pytest.fixture(scope="module")
def particles():
    """Particles from the origin, and every fourth from a point behind the VELO."""
    particles = shoot(events=30, per_event=20, seed=8, p_range=(3e3, 5e4), slope_max=(0.2, 0.15))
    late = particles["particle"] % 4 == 0
    slopes = {axis: particles[f"p{axis}"] / particles["pz"] for axis in "xy"}
    for axis, slope in slopes.items():
        particles[axis] = np.where(late, slope * BORN, particles[axis])
        # A decay with a transverse momentum of 150 MeV turns the particle off the line from the origin.
        particles[f"p{axis}"] = particles[f"p{axis}"] + np.where(late, 150.0, 0.0)
    particles["z"] = np.where(late, BORN, particles["z"])
    return particles


@pytest.fixture(scope="module")
def hits(particles, field, geometry):
    states = track_through(field, -1, geometry, particles, seed=5, threads=2)
    return respond(states, geometry=geometry, seed=5)


def test_the_line_from_the_origin_turns_the_models_of_the_magnet_round(magnet):
    random = np.random.default_rng(3)
    slopes = random.uniform(-0.2, 0.2, (500, 2))
    lines = np.column_stack([slopes[:, 0] * Z_REFERENCE, random.uniform(-30, 30, 500), slopes])
    tx = slopes[:, 0] + random.uniform(-0.2, 0.2, 500)
    y, ty = magnet.y_at_scifi(lines, tx)
    states = np.column_stack([magnet.x_at_scifi(lines, tx), y, tx, ty])
    found, z_kink = magnet.lines_from_origin(states)
    assert np.allclose(z_kink, magnet.z_kink(lines, tx), atol=1)
    assert np.allclose(found[:, :2], lines[:, :2], atol=0.1)
    assert np.allclose(found[:, 2:], lines[:, 2:], atol=2e-5)


def test_particles_from_behind_the_velo_are_found(search, hits):
    kind = KINDS["downstream"]
    found, true = search.candidates(hits, "found", kind), search.matched(hits, kind)
    wanted = {*zip(true["event"], true["particle"], strict=True)}
    pure = found["purity"] >= PURE
    got = {*zip(found["event"][pure], found["particle"][pure], strict=True)}
    assert len(wanted) > 100
    assert len(wanted & got) / len(wanted) > 0.8
    # Long particles that the search for long tracks has missed are among them, too.
    assert pure.mean() > 0.8
    assert not found["velo_n"].any()


def test_the_first_momentum_is_good_to_some_per_cent(search, particles, hits):
    found = search.candidates(hits, "found", KINDS["downstream"])
    pure = found["purity"] == 1
    rows = found["event"][pure] * 20 + found["particle"][pure]
    p = np.sqrt(sum(particles[f"p{axis}"][rows] ** 2 for axis in "xyz"))
    off = np.abs(found["qop"][pure]) * p - 1
    assert (np.sign(found["qop"][pure]) == particles["charge"][rows]).mean() > 0.98
    assert np.median(np.abs(off)) < 0.03


def test_no_hit_is_used_by_a_long_track_and_a_downstream_one(search, hits):
    long, other = (search.candidates(hits, "found", KINDS[name]) for name in ("long", "downstream"))
    sure = np.isfinite(long["ut_x"]).any(axis=1)

    def places(columns, rows):
        used = [np.isfinite(columns["ut_x"][rows])]
        event = np.broadcast_to(columns["event"][rows, None], used[0].shape)
        layer = np.broadcast_to(np.arange(4), used[0].shape)
        return {*zip(event[used[0]], layer[used[0]], columns["ut_x"][rows][used[0]], strict=True)}

    ours = places(other, np.arange(len(other["event"])))
    assert len(ours) > 300
    assert not ours & places(long, np.flatnonzero(sure))


def test_each_scifi_segment_is_of_one_kind(search, hits):
    ends = []
    for name in ("downstream", "scifi"):
        found = search.candidates(hits, "found", KINDS[name])
        ends += [*zip(found["event"], found["scifi_x"][:, 0], found["scifi_x"][:, 3], strict=True)]
        assert np.isfinite(found["ut_x"]).any(axis=1).all() == KINDS[name].ut
    whole = [end for end in ends if np.isfinite(end).all()]
    assert len(whole) == len({*whole}) > 50


def test_the_share_of_a_particle_counts_hits_that_it_made_with_others():
    made_by = np.array([1, 2, 2, 3, -1])
    number = np.array([0, 0, 1, 2, 3])  # particles 1 and 2 made the first hit together
    hits = np.array([[0, 2, 3, -1], [3, 4, -1, -1]])
    assert share_of(np.array([2, 3]), made_by, hits, number).tolist() == [2 / 3, 1 / 2]
