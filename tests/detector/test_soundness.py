"""Implausible geometries raise doubts, and the material budget agrees with the simulation's scattering."""

import re
from pathlib import Path

import numpy as np
import pytest
import yaml

from parkf.detector.alignment import Alignment
from parkf.detector.budget import budget
from parkf.detector.description import Description
from parkf.detector.geometry import UT_PLANES, VELO_PLANES, Geometry, geometry_of, load_geometry
from parkf.detector.soundness import describe, doubts
from parkf.detector.transport import track_through
from parkf.io.errors import ParkfError
from parkf.report.geometry import draw

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "data/geometry").glob("run3*.yaml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_shipped_geometries_leave_no_doubt(path):
    geometry = load_geometry(path)
    assert doubts(geometry) == []
    assert "52 planes, z = -287.500 to 750.000 mm" in describe(geometry)


def _swap(content, a, b):
    content[a], content[b] = content[b], content[a]


@pytest.mark.parametrize(
    ("change", "doubt"),
    [
        (lambda c: _swap(c["velo"], "left", "right"), r"velo\.left: its sensors are at the other half's x"),
        (
            lambda c: [s.update(x=0.1 * s["x"], y=0.1 * s["y"]) for s in c["velo"]["left"]["sensors"]],
            r"velo\.left: sensors .* in mm\?",
        ),
        (lambda c: c["ut"]["layers"][1].update(dxdy=0.0), r"ut\.layers\.1: dx/dy 0, where a stereo layer"),
        (
            lambda c: c["scifi"]["layers"][4].update(dxdy=0.0875),
            r"scifi\.layers\.4: .*a layer that measures x",
        ),
        (lambda c: [x.update(dxdy=abs(x["dxdy"])) for x in c["ut"]["layers"]], "lean to one side"),
    ],
)
def test_what_can_hardly_be_meant_is_named(change, doubt):
    """tests/imports/geometry_mutilations.py has more."""
    content = yaml.safe_load(FILES[0].read_text())
    change(content)
    found = doubts(geometry_of(Description.model_validate(content)))
    assert any(re.search(doubt, one) for one in found), found


def test_the_budget_is_the_material_that_the_simulation_scatters_in(geometry: Geometry, field) -> None:
    """Fast muons scatter as the radiation lengths in front of them predict."""
    count, p = 6000, 200e3
    eta, phi = 3.1, 0.6
    beam = {
        "event": np.zeros(count, np.int32),
        "particle": np.arange(count, dtype=np.int32),
        "charge": np.ones(count),
        "mass": np.full(count, 105.66),
        **{name: np.zeros(count) for name in "xyz"},
        "px": np.full(count, p * np.cos(phi) / np.cosh(eta)),
        "py": np.full(count, p * np.sin(phi) / np.cosh(eta)),
        "pz": np.full(count, p * np.tanh(eta)),
        "z_end": np.full(count, np.inf),
    }
    states = track_through(field, -1, geometry, beam, seed=5, threads=1)
    at = states["plane"] == 52
    angle = states["ty"][at]
    width = 0.5 * np.diff(np.quantile(angle, [0.1587, 0.8413]))[0]
    z = geometry.planes()[52, 0]
    lengths = [
        float(layer.x0[0])
        for layer in budget(geometry, np.array([eta]), np.array([phi]))
        if layer.z < z - 1 and layer.x0[0] > 0
    ]
    # Highland's formula, layer by layer. Half of the UT layer itself lies in front of the state on it.
    own = 0.5 * geometry.ut.thickness / geometry.description.materials["silicon"].radiation_length
    expected = np.sqrt(sum((13.6 / p) ** 2 * x * (1 + 0.038 * np.log(x)) ** 2 for x in [*lengths, own]))
    slope = np.sqrt(1 + 1 / np.sinh(eta) ** 2) * np.sqrt(1 + (np.sin(phi) / np.sinh(eta)) ** 2)
    # Layers sometimes scatter hard, so the core of their sum is up to 8 % wider than the sum of their cores.
    assert 1.0 - 0.03 < width / (expected * slope) < 1.08 + 0.03, width / (expected * slope)


def test_drawings(tmp_path, geometry):
    draw(geometry, tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text()
    assert text.count('id="axes_') == 3
    with pytest.raises(ParkfError, match=r"expected a name that ends with \.svg or \.png"):
        draw(geometry, tmp_path / "a.pdf")


@pytest.mark.parametrize(("tilt", "named"), [(0.01, False), (0.03, True), (-0.05, True)])
@pytest.mark.parametrize("axis", ["rx", "ry"])
def test_a_plane_that_is_tilted_by_more_than_20_mrad_is_named(geometry, tilt, named, axis):
    layers: dict = {"velo_halves": {}, "velo_modules": {}, "scifi_layers": {}, "ut_layers": {2: {axis: tilt}}}
    found = doubts(geometry.align(Alignment.model_validate({"tag": "test", **layers})))
    # tan of 30 and 50 mrad
    size = {0.03: "30.0", -0.05: "50.0"}.get(tilt)
    assert found == ([f"plane {UT_PLANES[2]}: tilted by {size} mrad"] if named else [])


def test_doubtful_material_is_named_as_in_the_description():
    content = yaml.safe_load(FILES[0].read_text())
    content["scifi"].update(thickness=490.0)
    geometry = geometry_of(Description.model_validate(content))
    (named,) = (re.findall(r"material: (\d+ to \d+) % of X0", one) for one in doubts(geometry))
    assert named == re.findall(r"(\d+ to \d+) % of X0", describe(geometry))


def _aimed(x: float, y: float, z: float) -> dict:
    """η and φ of a line from the origin to a point, mm."""
    aside = np.hypot(x, y)
    return {"eta": np.array([np.arcsinh(z / aside)]), "phi": np.array([np.arctan2(y, x)])}


@pytest.mark.parametrize(
    ("x", "y", "inside"), [(0.5, 0.2, True), (0.2, 0.5, True), (1.5, 0.5, False), (0.5, -1.5, False)]
)
def test_a_slab_has_a_square_opening_around_the_beam(geometry, x, y, inside):
    slabs = [slab for slab in geometry.description.slabs if slab.opening]
    assert slabs
    for slab in slabs:
        layers = budget(geometry, **_aimed(x * slab.opening, y * slab.opening, slab.z))
        (layer,) = (one for one in layers if one.part == slab.name)
        assert (layer.x0[0] == 0) == inside, slab.name


def test_a_particle_leaves_a_state_where_it_crosses_a_sensor(geometry, field):
    """Stiff muons are aimed at the sensors' centres, and at as far on the other side of the beam."""
    plane = VELO_PLANES[20]
    z, side = geometry.velo.modules[20]
    sensors = getattr(geometry.velo, side).sensors
    points = np.array([[sign * s.x, sign * s.y, z] for sign in (1, -1) for s in sensors])
    count, p = len(points), 1e6
    momenta = p * points / np.linalg.norm(points, axis=1)[:, None]
    muons = {
        "event": np.zeros(count, np.int32),
        "particle": np.arange(count, dtype=np.int32),
        "charge": np.ones(count),
        "mass": np.full(count, 105.66),
        **{name: np.zeros(count) for name in "xyz"},
        **{f"p{name}": momenta[:, i] for i, name in enumerate("xyz")},
        "z_end": np.full(count, np.inf),
    }
    states = track_through(field, -1, geometry, muons, seed=5, threads=1)
    assert sorted(states["particle"][states["plane"] == plane]) == list(range(len(sensors)))
