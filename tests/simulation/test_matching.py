"""VELO and SciFi segments that belong together are paired, in a magnet that bends in x alone."""

from types import SimpleNamespace

import numpy as np
import pytest

from parkf.simulation.pattern.matching import match_segments
from parkf.simulation.pattern.velo import Z_REFERENCE

Z_SCIFI, KICK = 8600.0, 5200.0


class Magnet:
    """Tracks turn in x at one place, and go straight in y."""

    z_scifi = Z_SCIFI

    def y_at_scifi(self, lines, tx):
        return lines[:, 1] + lines[:, 3] * (Z_SCIFI - Z_REFERENCE), lines[:, 3]

    def x_at_scifi(self, lines, tx):
        return lines[:, 0] + lines[:, 2] * (KICK - Z_REFERENCE) + tx * (Z_SCIFI - KICK)

    def h(self, lines, tx):
        return (tx - lines[:, 2]) / 1200.0


def _segments(tx, ty, turn, event):
    """Lines (x, y, tx, ty) from the origin at the reference, and states in the SciFi behind the turn."""
    lines = np.column_stack([tx * Z_REFERENCE, ty * Z_REFERENCE, tx, ty])
    behind = tx + turn
    x = tx * KICK + behind * (Z_SCIFI - KICK)
    states = np.column_stack([x, ty * Z_SCIFI, behind, ty])
    return SimpleNamespace(event=event, lines=lines), SimpleNamespace(
        event=event, states=states, tx_end=behind
    )


@pytest.fixture
def segments():
    random = np.random.default_rng(4)
    event = np.repeat(np.arange(5), 12)
    tx, ty = random.uniform(-0.2, 0.2, 60), random.uniform(-0.2, 0.2, 60)
    return _segments(tx, ty, random.uniform(-0.2, 0.2, 60), event)


def test_segments_of_one_track_are_paired(segments):
    velo, scifi = segments
    i, j, h = match_segments(velo, scifi, Magnet())
    assert len(i) == 60
    np.testing.assert_array_equal(i, j)
    np.testing.assert_allclose(h, (scifi.states[:, 2] - velo.lines[:, 2])[i] / 1200.0)


@pytest.mark.parametrize(("column", "shift"), [(0, 400.0), (1, 60.0), (3, 0.05)])
def test_a_segment_that_is_far_beside_its_track_is_not_paired(segments, column, shift):
    """Distances in x, y and ty are many times the scattering. Some segments may find another partner."""
    velo, scifi = segments
    scifi.states[:, column] += shift
    i, j, _ = match_segments(velo, scifi, Magnet())
    assert not (i == j).any()


def test_segments_of_different_events_are_not_paired(segments):
    velo, scifi = segments
    scifi.event = scifi.event + 5
    assert len(match_segments(velo, scifi, Magnet())[0]) == 0
