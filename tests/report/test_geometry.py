"""A drawn geometry has every plane where the geometry has it, and the material of the budget."""

from pathlib import Path

import numpy as np
import pytest

from parkf.detector.budget import budget
from parkf.detector.description import Description
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, geometry_of, load_geometry
from parkf.report.geometry import geometry_figure

BASE = Path(__file__).parents[2] / "data/geometry/run3.yaml"


@pytest.fixture(scope="module")
def geometry():
    """The detector, whose last SciFi layer is higher than all others."""
    content = load_geometry(BASE).description.model_dump(mode="json", exclude_unset=True)
    content["scifi"]["layers"][-1]["half_height"] = 2600.0
    return geometry_of(Description.model_validate(content))


@pytest.fixture(scope="module")
def axes(geometry):
    return geometry_figure(geometry).axes


def test_the_side_view_has_all_planes_and_passive_material(axes, geometry):
    side = axes[0]
    strips = [lines.get_segments() for lines in side.collections[52:]]
    assert len(strips) == 16
    for segments, plane in zip(strips, (*UT_PLANES, *SCIFI_PLANES), strict=True):
        ((begin, end),) = segments
        z0, _, dzdy = geometry.planes()[plane]
        height = abs(begin[1])
        assert end[1] == pytest.approx(-begin[1])
        np.testing.assert_allclose([begin[0], end[0]], [z0 - dzdy * height, z0 + dzdy * height], atol=1e-6)
    assert strips[-1][0][1][1] == pytest.approx(2600.0, rel=1e-5)
    dotted = [line for line in side.lines if line.get_linestyle() == ":"]
    # Each slab has an opening for the beam, and ends above the highest layer, which is the last.
    assert len(dotted) == 2 * len(geometry.description.slabs)
    slabs = (slab for slab in geometry.description.slabs for _ in range(2))
    for line, slab in zip(dotted, slabs, strict=True):
        assert line.get_xdata().tolist() == [slab.z, slab.z]
        assert np.abs(line.get_ydata()).min() == pytest.approx(slab.opening)
        assert np.abs(line.get_ydata()).max() == pytest.approx(1.04 * 2600.0)
    planes = [line.get_xdata()[0] for line in side.lines if line.get_linestyle() == "--"]
    assert planes == [geometry.magnet.z_in, geometry.magnet.z_out]
    ends = [(line.get_xdata()[1], line.get_ydata()[1]) for line in side.lines[-2:]]
    assert [y / x for x, y in ends] == pytest.approx([0.25, -0.25])
    # The detector fills the view.
    low, high = side.get_ylim()
    assert 2600.0 < high < 4000.0 < -2 * low < 12_000.0


def test_sensors_of_the_velo_are_drawn_at_their_modules(axes, geometry):
    for lines, module in zip(axes[0].collections[:52], geometry.velo.modules, strict=True):
        for (z0, y0), (z1, y1) in lines.get_segments():
            assert [z0, z1] == pytest.approx([module[0]] * 2, abs=10.0)
            assert 10.0 < y1 - y0 < 100.0


def test_the_material_is_that_of_lines_from_the_origin(axes, geometry):
    by_eta, phi = axes[2], np.linspace(-np.pi, np.pi, 48, endpoint=False)
    # The upper edge of the stack is the whole material at each η.
    eta = np.linspace(1.9, 5.1, 129)
    whole = sum(layer.x0 for layer in budget(geometry, *np.meshgrid(eta, phi, indexing="ij"))).mean(axis=1)
    top = by_eta.collections[-1].get_paths()[0].vertices
    for number in (0, 40, 128):
        assert top[np.isclose(top[:, 0], eta[number]), 1].max() == pytest.approx(100 * whole[number])
