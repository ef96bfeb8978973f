"""Vertices of two tracks: found where they were put, with errors that are right."""

import numpy as np
import pytest
from uniform_field import uniform

from parkf.fit.inside import carry_inside
from parkf.fit.vertices import Ends, _crossing, fit_vertices
from parkf.params.manifest import Scatterer

PAIRS = 2000
UT = 2327.5  # mm
# Errors at the UT: x, y (mm), tx, ty, relative q/p.
ERRORS = np.array([0.05, 0.8, 3e-4, 2e-3, 0.01])
# A layer between vertices and the UT; MeV.
LAYER = Scatterer(z=2165.0, angle=3.0, opening=0.0)


def pairs(slices, *, seed=2):
    """Two tracks from one point between 1 and 2 m, carried to the UT, scattered in the layer, and smeared."""
    random = np.random.default_rng(seed)
    z = random.uniform(1000.0, 2000.0, PAIRS)
    line = random.uniform(-0.12, 0.12, (PAIRS, 2))
    place = line * z[:, None]
    ends = []
    for side in (1, -1):
        opening = side * 0.05 * np.stack([np.cos(z), np.sin(z)], axis=1)
        qop = side / random.uniform(4e3, 2e4, PAIRS)
        start = np.column_stack([place, line + opening, qop])
        to_layer = carry_inside(slices, start, z, LAYER.z, 1).states
        tx, ty = to_layer[:, 2], to_layer[:, 3]
        n2 = 1 + tx**2 + ty**2
        widths = LAYER.angle * np.abs(qop) * np.sqrt(n2) * np.sqrt([1 + tx**2, 1 + ty**2])
        to_layer[:, 2:4] += (random.normal(size=(2, PAIRS)) * widths).T
        there = carry_inside(slices, to_layer, LAYER.z, UT, 1).states
        sigma = np.column_stack([np.broadcast_to(ERRORS[:4], (PAIRS, 4)), ERRORS[4] * np.abs(qop)])
        covariances = np.zeros((PAIRS, 15))
        covariances[:, [0, 2, 5, 9, 14]] = sigma**2
        ends.append(Ends(random.normal(there, sigma), covariances, np.full(PAIRS, UT)))
    return ends, np.column_stack([place, z]), line


@pytest.fixture(scope="module")
def found():
    ends, place, line = pairs(uniform(0.05))
    return fit_vertices(uniform(0.05, [LAYER]), *ends, 1.0), place, line


def test_vertices_lie_where_tracks_began(found):
    vertices, place, _ = found
    assert vertices.ok.mean() > 0.99
    away = (vertices.place - place)[vertices.ok]
    pull = away[:, 2] / vertices.z_error[vertices.ok]
    assert np.std(pull) == pytest.approx(1, abs=0.06)
    assert abs(pull.mean()) < 0.08
    # An opening of a tenth and a slope known to some 1e-3 over a metre.
    assert 5 < np.median(vertices.z_error) < 40
    assert vertices.chi2[vertices.ok].mean() == pytest.approx(1, abs=0.1)


def test_a_vertex_sharpens_directions(found):
    """Both tracks come from one point, which the precise x of the UT and the other track know."""
    vertices, _, line = found
    opening = 0.05
    for side, directions in zip((1, -1), vertices.directions, strict=True):
        z = found[1][:, 2]
        true = line + side * opening * np.stack([np.cos(z), np.sin(z)], axis=1)
        away = np.abs(directions[vertices.ok, :2] - true[vertices.ok])
        assert np.quantile(away[:, 1], 0.68) < ERRORS[3]
        assert np.quantile(away[:, 0], 0.68) < 2 * ERRORS[2] + 2 * LAYER.angle / 4e3


def test_parallel_tracks_have_no_vertex():
    state = np.array([[10.0, 5.0, 0.01, 0.01, 1e-4]])
    covariances = np.zeros((1, 15))
    covariances[:, [0, 2, 5, 9, 14]] = 1e-4
    one = Ends(state, covariances, np.array([UT]))
    other = Ends(state + np.eye(1, 5), covariances, np.array([UT]))
    assert not fit_vertices(uniform(), one, other, 1.0).ok[0]


def test_the_search_begins_where_straight_lines_meet():
    """Both lines go through (12, -7, 1500) mm; one is known at 2 m, the other at 2.4 m."""
    ends = []
    for z, tx, ty in ((2000.0, 0.05, -0.02), (2400.0, -0.03, 0.04)):
        state = [12.0 + tx * (z - 1500.0), -7.0 + ty * (z - 1500.0), tx, ty, 1e-4]
        ends.append(Ends(np.array([state]), np.zeros((1, 15)), np.array([z])))
    assert _crossing(*ends) == pytest.approx([1500.0])
