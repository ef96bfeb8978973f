"""Sets with steps inside the magnet fit every kind of track; sets from before fit long ones, and say so."""

import numpy as np
import pytest

import parkf
from parkf.fit import is_good


@pytest.fixture
def hits():
    return dict(np.load(parkf.example().with_suffix(".npz")))


# The 68 % of how far p is from that of the long fit of the same hits, and energy lost before the state, MeV.
@pytest.mark.parametrize(
    ("kind", "precision", "lost"), [("downstream", 0.0015, 14), ("scifi", 0.12, 20), ("upstream", 0.25, 0)]
)
def test_the_newest_set_fits_every_kind(hits, kind, precision, lost):
    """The example's tracks are long ones: their hits in the detectors of another kind are such a track."""
    newest = parkf.load("2026-run3-like-2-r018")
    tracks, long = newest.fit(hits, kind=kind), newest.fit(hits)
    # One track in eight has no hits in the UT. Without the SciFi, it has no momentum.
    known = np.isfinite(hits["ut_x"]).any(axis=1) | (kind != "upstream")
    np.testing.assert_array_equal(is_good(tracks["status"]), known)
    change = (long.p / (tracks.p + lost) - 1)[known]
    assert abs(np.median(change)) < precision / 5
    assert precision / 2 < np.quantile(abs(change), 0.68) < precision


def test_the_newest_set_fits_electrons(hits):
    """Pions that the fit is told are electrons: where they were produced they had more momentum, not less."""
    newest = parkf.load("2026-run3-like-2-r018")
    tracks, pions = newest.fit(hits, electrons=True), newest.fit(hits)
    known = np.isfinite(tracks["hard"])
    assert known.mean() > 0.95
    assert (tracks.p[known] > 0.99 * pions.p[known]).all()
    assert ((0 < tracks["hard"][known]) & (tracks["hard"][known] < 1)).all()
