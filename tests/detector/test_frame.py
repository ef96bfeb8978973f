"""Pieces of planes: their corners, and the coordinates of points on them."""

import numpy as np
import pytest
import yaml

from parkf.detector.alignment import Alignment
from parkf.detector.description import Description
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES, geometry_of

MATS = [
    {"number": 512 + i, "x": 130.0 * i, "y": 1200.0, "half_width": 65.0, "half_height": 1213.0}
    for i in range(3)
]


@pytest.fixture(scope="module")
def displaced(request):
    """A geometry with mats in a stereo layer, which like the VELO's halves are turned and moved."""
    path = request.config.rootpath / "data/geometry/run3.yaml"
    content = yaml.safe_load(path.read_text())
    content["scifi"]["layers"][1]["pieces"] = MATS
    # Where a sensor is not in its module's plane, sensors have places of their own.
    content["velo"]["left"]["sensors"][0]["z"] = 1.0
    turned = {"x": 0.3, "y": -0.2, "z": 0.1, "rx": 2e-3, "ry": -3e-3, "rz": 4e-3}
    empty: dict = {"velo_modules": {}, "ut_layers": {}}
    moved = {"velo_halves": {"left": turned}, "scifi_layers": {1: turned}, **empty}
    return geometry_of(Description.model_validate(content)).align(
        Alignment.model_validate({"tag": "test", **moved})
    )


@pytest.fixture(params=[VELO_PLANES[0], VELO_PLANES[1], SCIFI_PLANES[1]])
def pieces(request, displaced):
    return displaced.pieces[request.param]


def test_axes_are_orthogonal_and_of_length_one(pieces):
    np.testing.assert_allclose(np.linalg.norm(pieces.axis_u, axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(pieces.axis_v, axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(np.sum(pieces.axis_u * pieces.axis_v, axis=1), 0, atol=1e-12)


def test_corners_are_a_rectangle_around_the_centre(pieces):
    corners = pieces.corners()
    assert corners.shape == (len(pieces.numbers), 4, 3)
    np.testing.assert_allclose(corners.mean(axis=1), pieces.origin, atol=1e-9)
    sides = np.linalg.norm(np.diff(corners, axis=1), axis=2)
    width, height = 2 * pieces.half_sizes.T
    np.testing.assert_allclose(sides.T, [width, height, width], rtol=1e-12)


def test_corners_have_the_half_sizes_as_their_own_coordinates(pieces):
    for index, four in enumerate(pieces.corners()):
        u, v = pieces.local(four[:, 0], four[:, 1], np.full(4, index))
        half_u, half_v = pieces.half_sizes[index]
        np.testing.assert_allclose(u, [-half_u, half_u, half_u, -half_u], atol=1e-9)
        np.testing.assert_allclose(v, [-half_v, -half_v, half_v, half_v], atol=1e-9)


def test_a_layer_without_known_parts_has_no_pieces(displaced):
    assert UT_PLANES[0] not in displaced.pieces


def test_a_point_belongs_to_the_piece_around_it(pieces):
    x, y, _ = pieces.origin.T
    np.testing.assert_array_equal(pieces.at(x, y), np.arange(len(pieces.numbers)))
