"""Pictures show hits and tracks where they are, in metres, and tracks in the colour of their kind."""

from dataclasses import replace

import numpy as np
import pytest

import parkf
from parkf.report.event import PLANES, Event, Track

BLUE, RED = "tab:blue", "tab:red"


def _path(x0, tx, y0, ty):
    """A straight path at the planes, in mm."""
    zeros = 0 * PLANES
    return np.column_stack([x0 + tx * PLANES, y0 + ty * PLANES, tx + zeros, ty + zeros, 1e-4 + zeros])


@pytest.fixture
def track():
    """Two VELO hits, and two strips that lean; the second of either is not the particle's."""
    return Track(
        number=4,
        particle=7,
        purity=0.8,
        chi2=1.26,
        good=True,
        p=-12.34,
        velo=np.array([[10.5, 3.0, 100.0], [21.0, 6.0, 200.0]]),
        strips=np.array([[790.0, 8000.0, 0.1, 0.1], [905.0, 9000.0, -0.1, 0.1]]),
        own=np.array([True, False, True, False]),
        fit=_path(0.0, 0.1, 0.0, 0.02),
        truth=_path(0.0, 0.1, 0.0, 0.02),
    )


@pytest.fixture
def event(track):
    ghost = replace(track, purity=0.69, fit=_path(0.0, -0.2, 10.0, -0.05))
    bad = replace(track, good=False)
    hits = np.array([[10.0, 3.0, 100.0, 7], [-20.0, 6.0, 999.0, 7], [800.0, np.nan, 8000.0, -1]])
    return Event("validation_up", 3, hits, [track, ghost, bad])


def test_an_event_is_drawn_in_metres_from_above_and_from_the_side(event):
    figure = parkf.draw(event)
    for view, axis in zip(figure.axes, (0, 1), strict=True):
        points, *paths = view.lines
        seen = event.hits if axis == 0 else event.hits[:2]
        np.testing.assert_allclose(points.get_xdata(), seen[:, 2] / 1000)
        np.testing.assert_allclose(points.get_ydata(), seen[:, axis] / 1000)
        # A track with a bad fit is left out.
        assert [path.get_color() for path in paths] == [BLUE, RED]
        for path, track in zip(paths, event.tracks, strict=False):
            np.testing.assert_allclose(path.get_xdata(), PLANES / 1000)
            np.testing.assert_allclose(path.get_ydata(), track.fit[:, axis] / 1000)
        # The whole detector is in the view: the SciFi ends at 9.4 m, 3 m from the beam.
        assert view.get_xlim()[0] < PLANES[0] / 1000 < 9.41 < view.get_xlim()[1] < 10
        assert view.get_ylim() == (-3.0, 3.0)
        assert view.get_ylabel() == f"{'xy'[axis]} / m"
    assert figure.get_suptitle() == "event 3 of validation_up: 3 tracks, 1 of them ghosts"


def test_a_track_is_drawn_by_the_distances_of_its_hits(track):
    """The strips are at x + dx/dy·y: at y = 160 and 180 mm, 6 mm and -13 mm from the path."""
    (axes,) = parkf.draw(track).axes
    own, others, zero = axes.lines
    np.testing.assert_allclose(own.get_xdata(), [0.1, 8.0])
    np.testing.assert_allclose(own.get_ydata(), [0.5, 790 + 16 - 800])
    np.testing.assert_allclose(others.get_xdata(), [0.2, 9.0])
    np.testing.assert_allclose(others.get_ydata(), [1.0, 905 - 18 - 900])
    assert (own.get_color(), others.get_color()) == (BLUE, RED)
    assert (own.get_label(), others.get_label()) == ("hits of its particle", "other hits")
    np.testing.assert_array_equal(zero.get_ydata(), 0)
    assert axes.get_title() == "track 4: p = -12.3 GeV, χ²/ndof = 1.3"
