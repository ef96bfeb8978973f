"""One wrong node of a map is found at its place, and honest maps have none."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from parkf.detector.field import DipoleSources, FieldMap, evaluate_on_grid
from parkf.imports.field.physics import inspect_field

ROOT = Path(__file__).parents[2]
DIPOLE = DipoleSources.load(ROOT / "data/field/dipole.json")
FAULTS = {"zero": 0.0, "turned": -1.0, "half as strong again": 1.5}
PLACES = [(0.0, 0.0, 5000.0), (-1000.0, 0.0, 5000.0), (0.0, 1000.0, 6000.0), (300.0, -200.0, 4000.0)]


@pytest.fixture(scope="module")
def made():
    return evaluate_on_grid(DIPOLE, spacing=100.0, z_max=10_000.0)


def _node(field, place):
    return tuple(np.rint((np.array(place) - field.origin) / field.spacing).astype(int))


def _spoilt(field, place, factor):
    values = field.values.copy()
    values[_node(field, place)] *= factor
    return replace(field, values=values)


def _found(field):
    return [one for one in inspect_field(field, DIPOLE, "map").findings if one.verdict != "ok"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_node_is_named_with_its_place(made, place, fault):
    (found,) = _found(_spoilt(made, place, FAULTS[fault]))
    assert found.verdict == "wrong"
    assert f"({', '.join(f'{one:g}' for one in place)}) mm" in found.said


def test_several_wrong_nodes_are_counted(made):
    spoilt = made
    for place in PLACES:
        spoilt = _spoilt(spoilt, place, 0.0)
    (found,) = _found(spoilt)
    assert found.what.startswith("4 nodes")


@pytest.mark.parametrize("place", [(4000.0, 3200.0, 9000.0), (-4000.0, -3200.0, -500.0)])
def test_a_far_corner_is_a_node_and_no_unit(made, place):
    """A file may hold it; no map of this project holds 72 T."""
    values = made.values.copy()
    values[_node(made, place)] = [0.0, 19.0, 0.0]
    (found,) = _found(replace(made, values=values))
    assert "unit" not in found.said
    assert f"({place[0]:g}, {place[1]:g}, {place[2]:g}) mm" in found.said


def _cut(field, low, high):
    (i0, j0, k0), (i1, j1, k1) = _node(field, low), _node(field, high)
    values = field.values[i0 : i1 + 1, j0 : j1 + 1, k0 : k1 + 1]
    origin = field.origin + field.spacing * [i0, j0, k0]
    return FieldMap(origin, field.spacing, np.ascontiguousarray(values), field.interpolation, field.outside)


def _measured(field):
    """Add an error of half a per mille, and round to 0.1 mT, as measured maps are."""
    noise = 1 + 5e-4 * np.random.default_rng(4).normal(size=field.values.shape)
    return replace(field, values=np.round(1e4 * field.values * noise).astype(np.float32) / np.float32(1e4))


def _nodes(field):
    of = zip(field.origin, field.spacing, field.values.shape[:3], strict=True)
    return np.meshgrid(*(o + s * np.arange(n) for o, s, n in of), indexing="ij")


def _cropped_to_zero(field):
    """Files of magnets often have zeros where nobody measured."""
    x, y, z = _nodes(field)
    far = (np.abs(x) > 400 + 0.4 * np.abs(z)) | (np.abs(y) > 400 + 0.35 * np.abs(z))
    return replace(field, values=np.where(far[..., None], np.float32(0), field.values))


def _uneven(field):
    """Add fields of a few mT that obey Maxwell's equations, odd in x and in y: LHCb's is not symmetric."""
    x, y, z = (1e-3 * one for one in _nodes(field))
    added = 1e-3 * np.stack([2 * x * y, x * x - y * y + 2 * x, 0 * z], axis=-1)
    added[..., 0] += 1e-3 * 2 * y
    return replace(field, values=(field.values + added).astype(np.float32))


HONEST = {
    "as it is": lambda field: field,
    "0.2 % stronger": lambda field: replace(field, values=np.float32(1.002) * field.values),
    "cropped": lambda field: _cut(field, (-3000.0, -2500.0, -200.0), (3000.0, 2500.0, 9600.0)),
    "zeros outside of the acceptance": _cropped_to_zero,
    "measured": _measured,
    "other halves": _uneven,
}


@pytest.mark.parametrize("kind", HONEST)
def test_honest_maps_have_no_wrong_node(made, kind):
    assert _found(HONEST[kind](made)) == []


@pytest.mark.parametrize("spacing", [150.0, 200.0, 400.0])
def test_no_grid_has_a_wrong_node(spacing):
    assert _found(evaluate_on_grid(DIPOLE, spacing=spacing, z_max=10_000.0)) == []
