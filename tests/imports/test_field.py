"""Maps come back from every format as they were; wrong maps are refused with the reason."""

from pathlib import Path

import field_writers
import numpy as np
import pytest

from parkf.detector.dipole import DipoleSources
from parkf.detector.field import FieldMap, evaluate_on_grid
from parkf.imports.field.physics import inspect_field
from parkf.imports.field.read import make_grid, read_field

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def small():
    """Corner, spacing (mm) and field (T) of a small map of the dipole, symmetric about the axis."""
    corner, spacing = np.array([-400.0, -300.0, 2000.0]), np.array([200.0, 150.0, 500.0])
    places = np.stack(
        np.meshgrid(*(corner[a] + spacing[a] * np.arange(n) for a, n in enumerate((5, 5, 7))), indexing="ij"),
        -1,
    )
    field = DipoleSources.load(ROOT / "data/field/dipole.json").field(places.reshape(-1, 3))
    return corner, spacing, field.reshape(places.shape)


@pytest.mark.parametrize(
    ("kind", "declared", "digits"),
    [
        ("cdf", {}, 1e-8),
        ("allen", {}, 3e-7),
        ("plain", {"length": "cm", "unit": "kG"}, 1e-8),
        ("csv", {}, 1e-8),
    ],
)
@pytest.mark.parametrize("polarity", [-1, 1])
def test_every_format_comes_back(tmp_path, small, kind, declared, digits, polarity):
    corner, spacing, field = small
    source = getattr(field_writers, f"write_{kind}")(tmp_path, corner, spacing, -polarity * field)
    taken = read_field(source, polarity=polarity, **declared)
    np.testing.assert_allclose(taken.origin, corner, atol=1e-9)
    np.testing.assert_allclose(taken.spacing, spacing, rtol=1e-9)
    expected = field.astype(np.float32)
    np.testing.assert_allclose(taken.values, expected, atol=(digits + 6e-8) * abs(field).max())


def test_rounded_coordinates_are_those_of_one_node(small):
    """Digits of a text, or float32, move a node by up to a micrometre; zero is exact."""
    corner, spacing, field = small
    nodes = [corner[a] + spacing[a] * np.arange(n) for a, n in enumerate((5, 5, 7))]
    points = np.stack(np.meshgrid(*nodes, indexing="ij"), -1).reshape(-1, 3)
    rounded = points + 1e-4 * np.random.default_rng(2).uniform(-1, 1, points.shape) * (points != 0)
    _, found, values = make_grid(rounded, field.reshape(-1, 3), "map")
    np.testing.assert_array_equal(values, field)
    np.testing.assert_allclose(found, spacing, rtol=1e-6)


def test_the_strength_of_a_map_is_told_over_the_dipoles_and_in_tesla():
    dipole = DipoleSources.load(ROOT / "data/field/dipole.json")
    made = evaluate_on_grid(dipole, spacing=250.0, y_max=3000.0, z_max=10_000.0)
    seen = inspect_field(FieldMap(made.origin, made.spacing, 1.2 * made.values), dipole, "map")
    figures = {figure.name: figure.value for figure in seen.figures}
    assert figures["By over the dipole's"] == pytest.approx(1.2, rel=0.01)
    assert figures["what that leaves, over the dipole's"] < 0.03
    # The magnet is strongest in its middle.
    assert -1.4 < figures["By(0, 0, 5000)"] < -1.1
    assert figures["kick"] == pytest.approx(1.2 * 1.2, abs=0.15)


@pytest.mark.parametrize(("share", "found"), [(0.007, False), (0.015, True)])
def test_a_map_may_lack_one_node_in_a_hundred_of_those_that_tracks_pass(share, found):
    """Tracks have |tx| < 0.3 and |ty| < 0.25, and the magnet is between 3 and 7 m."""
    dipole = DipoleSources.load(ROOT / "data/field/dipole.json")
    made = evaluate_on_grid(dipole, spacing=500.0, y_max=3000.0, z_max=9500.0)
    nodes = [
        o + s * np.arange(n) for o, s, n in zip(made.origin, made.spacing, made.values.shape[:3], strict=True)
    ]
    x, y, z = np.meshgrid(*nodes, indexing="ij")
    passed = np.argwhere((np.abs(x) <= 0.3 * z) & (np.abs(y) <= 0.25 * z) & (z > 3000) & (z < 7000))
    values = made.values.copy()
    for node in passed[:: len(passed) // round(share * len(passed))][: round(share * len(passed))]:
        values[tuple(node)] = 0.0
    seen = inspect_field(FieldMap(made.origin, made.spacing, values), dipole, "map")
    empty = [one for one in seen.findings if one.what == "a part of the map is empty"]
    assert [one.verdict for one in empty] == (["wrong"] if found else [])


def test_what_is_taken_over_is_a_map(tmp_path, small):
    source = field_writers.write_csv(tmp_path, *small)
    read_field(source, interpolation="cubic", outside="zero").save(tmp_path / "map.npz")
    assert FieldMap.load(tmp_path / "map.npz").interpolation == "cubic"


@pytest.mark.parametrize("component", [0, 2])
def test_the_error_of_the_grid_is_that_of_central_differences(component):
    """A component a·x³ has the derivative 3·a·x². Its difference over ±h is a·h² more than that."""
    spacing, a = 0.25, 0.01  # m, T/m³
    corner, counts = np.array([-3000.0, -2500.0, -500.0]), (25, 21, 41)
    x = 1e-3 * corner[component] + spacing * np.arange(counts[component])
    shape = [1, 1, 1]
    shape[component] = -1
    values = np.zeros((*counts, 3), np.float32)
    values[..., 1] = -1.0
    values[..., component] = (a * x**3).reshape(shape)
    seen = inspect_field(
        FieldMap(corner, np.full(3, 1000.0 * spacing), values),
        DipoleSources.load(ROOT / "data/field/dipole.json"),
        "map",
    )
    figures = {figure.name: figure for figure in seen.figures}
    assert figures["|∇·B|, 68 %"].expected == f"{a * spacing**2:.2g} by the grid"
    assert figures["|∇×B|, 68 %"].value == pytest.approx(0.0, abs=1e-6)
