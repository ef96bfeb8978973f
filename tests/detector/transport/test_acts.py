"""Runge-Kutta compared with ACTS's, on the same grid from one side of the magnet to the other.

Both solve the same equation, so they differ only in accuracy. A trilinear map has kinks where cells meet, and
the error estimate of a step does not see a kink inside the step. ACTS's steps span cells. The more often ACTS
is halted, the closer its tracks come to ours: within micrometres without halts, within nanometres with a halt
every few mm.
"""

from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("acts", reason="ACTS is not installed: pip install 'parkf[acts]'")

from acts_peer import Propagator, acts_field, look_up  # only where ACTS is installed

from parkf.detector.transport import propagate

MAGDOWN = -1
EDGES = (1.5, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0)  # GeV
LOWER, UPPER = np.array([-3500.0, -1800.0, 2600.0]), np.array([3500.0, 1800.0, 7900.0])
COUNT = 2000


@pytest.fixture(scope="module")
def peer(field, tmp_path_factory):
    return acts_field(field, tmp_path_factory.mktemp("acts"), lower=LOWER, upper=UPPER)


@pytest.fixture(scope="module")
def tracks(geometry):
    """States before the magnet that point back to the beamline, and their p in GeV."""
    rng = np.random.default_rng(5)
    p = np.exp(rng.uniform(np.log(EDGES[0]), np.log(EDGES[-1]), COUNT))
    tx, ty = rng.uniform(-0.2, 0.2, COUNT), rng.uniform(-0.2, 0.2, COUNT)
    z = geometry.magnet.z_in
    states = np.column_stack([tx * z, ty * z, tx, ty, rng.choice([-1.0, 1.0], COUNT) / (1000.0 * p)])
    return states, p


@pytest.fixture(scope="module")
def differences(field, peer, geometry):
    """|ours - ACTS's| in (x, y, tx, ty) behind the magnet, mm and rad, and which tracks both carry."""
    begin, end = geometry.magnet.z_in, geometry.magnet.z_out

    def compare(states, halts):
        stops = [*(np.arange(begin + 35.0, end, halts) if halts else ()), end]
        ours = propagate(field, MAGDOWN, states, begin, (end, 0.0, 0.0))
        theirs = Propagator(peer, stops)(states, begin)
        both = ours.ok & np.isfinite(theirs[:, 0])
        return np.abs(ours.states - theirs)[both, :4], both

    return compare


def test_the_field_between_nodes_is_the_same(field, peer):
    points = np.random.default_rng(6).uniform(LOWER, UPPER, (500, 3))
    # The text file has nine digits of each number.
    assert look_up(peer, points) == pytest.approx(field.at(points), abs=1e-7)


@pytest.mark.parametrize(
    ("halts", "x_68", "x_most", "slope_most"),
    [
        # mm between halts, the first at a node; limits by momentum in micrometres, micrometres, microradians.
        (None, (14, 8, 6, 4, 3.5, 2), (40, 20, 20, 13, 9, 7), (22, 9, 6, 4, 3, 2)),
        (100, (0.7, 0.5, 0.35, 0.2, 0.1, 0.05), (6, 2.5, 2.5, 1.6, 1.1, 0.5), (6, 1.5, 1, 0.5, 0.3, 0.15)),
    ],
)
def test_tracks_end_where_acts_has_them(differences, tracks, halts, x_68, x_most, slope_most):
    states, p = tracks
    difference, both = differences(states, halts)
    assert both.mean() > 0.97
    for number, (low, high) in enumerate(pairwise(EDGES)):
        inside = (p[both] >= low) & (p[both] < high)
        assert inside.sum() > 200
        position, slope = 1e3 * difference[inside, :2], 1e6 * difference[inside, 2:]
        assert np.quantile(position[:, 0], 0.68) < x_68[number], (low, high)
        assert position.max() < x_most[number], (low, high)
        assert slope.max() < slope_most[number], (low, high)


def test_acts_comes_nearer_the_oftener_it_is_halted(differences, tracks):
    states, p = tracks
    soft = states[p < 3.0][:80]
    wide = [1e3 * np.quantile(differences(soft, halts)[0][:, 0], 0.68) for halts in (None, 100, 20, 5)]
    assert all(later < earlier / 3 for earlier, later in pairwise(wide))
    # Micrometres; our own steps are accurate to 0.01.
    assert wide[-1] < 0.02
