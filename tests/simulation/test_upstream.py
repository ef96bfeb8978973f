"""The search for tracks that the magnet bends out of the detector, in what long tracks leave over."""

import numpy as np
import pytest

from parkf.detector.geometry import UT_PLANES
from parkf.detector.transport import track_through
from parkf.io.kinds import KINDS
from parkf.simulation.pattern.candidates import Search
from parkf.simulation.pattern.magnet import fit_magnet_model
from parkf.simulation.response.hits import respond

from ..gun import shoot

PURE = 0.7
UPSTREAM = KINDS["upstream"]


@pytest.fixture(scope="module")
def search(field, geometry):
    return Search(geometry, fit_magnet_model(field, geometry), polarity=1)


@pytest.fixture(scope="module")
def particles():
    """Particles from the origin; more than a half is too soft for the SciFi."""
    return shoot(events=40, per_event=20, seed=9, p_range=(1.6e3, 6e3), slope_max=(0.25, 0.2))


@pytest.fixture(scope="module")
def hits(particles, field, geometry):
    states = track_through(field, 1, geometry, particles, seed=5, threads=2)
    return respond(states, geometry=geometry, seed=5)


@pytest.fixture(scope="module")
def found(search, hits):
    return search.candidates(hits, "found", UPSTREAM)


def test_particles_that_miss_the_scifi_are_found(search, hits, found):
    true = search.matched(hits, UPSTREAM)
    wanted = {*zip(true["event"], true["particle"], strict=True)}
    pure = found["purity"] >= PURE
    got = {*zip(found["event"][pure], found["particle"][pure], strict=True)}
    assert len(wanted) > 100
    # Most of them have less than 2.5 GeV, and scatter as much as the field bends them.
    assert len(wanted & got) / len(wanted) > 0.75
    # Particles whose SciFi segment was lost are among them, too.
    assert pure.mean() > 0.9
    assert not np.isfinite(found["scifi_x"]).any()
    assert (np.isfinite(found["ut_x"]).sum(axis=1) >= 3).all()


def test_the_first_momentum_is_good_to_a_quarter(particles, found):
    pure = found["purity"] == 1
    rows = found["event"][pure] * 20 + found["particle"][pure]
    p = np.sqrt(sum(particles[f"p{axis}"][rows] ** 2 for axis in "xyz"))
    assert (np.sign(found["qop"][pure]) == particles["charge"][rows]).mean() > 0.98
    assert np.median(np.abs(np.abs(found["qop"][pure]) * p - 1)) < 0.25


def test_wrong_ut_hits_make_a_ghost(search, hits, found):
    """A particle's VELO segment is not enough: it must have made the UT hits, too."""
    others = hits | {"x": np.where(np.isin(hits["plane"], UT_PLANES), hits["x"] + 1e5, hits["x"])}
    assert len(search.candidates(others, "found", UPSTREAM)["event"]) == 0
    strangers = dict(hits)
    in_ut = np.isin(hits["plane"], UT_PLANES)
    strangers["particle"] = np.where(in_ut, 7777, hits["particle"])
    again = search.candidates(strangers, "found", UPSTREAM)
    assert len(again["event"]) == len(found["event"])
    assert (again["purity"] < PURE).all()


def test_no_hit_is_used_by_a_long_track_and_an_upstream_one(search, hits, found):
    long = search.candidates(hits, "found")
    sure = np.isfinite(long["ut_x"]).any(axis=1)

    def places(columns, rows, detector):
        x = columns[f"{detector}_x"][rows]
        track, slot = np.nonzero(np.isfinite(x))
        return {*zip(columns["event"][rows][track], slot, x[track, slot], strict=True)}

    everything = np.arange(len(found["event"]))
    for detector in ("velo", "ut"):
        ours = places(found, everything, detector)
        assert len(ours) > 300
        if detector == "ut":
            assert not ours & places(long, np.flatnonzero(sure), detector)
