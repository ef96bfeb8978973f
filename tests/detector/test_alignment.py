"""Displacements move planes, active areas and strips like rigid bodies."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parkf.detector.alignment import SECTIONS, Alignment, Displacement, load_alignment
from parkf.detector.frame import Frame
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES, Geometry
from parkf.io.errors import ParkfError

ROOT = Path(__file__).parents[2]
NOMINAL = ROOT / "data/geometry/alignment_nominal.yaml"

shifts = st.floats(-5.0, 5.0)
angles = st.floats(-0.02, 0.02)
displacements = st.builds(Displacement, x=shifts, y=shifts, z=shifts, rx=angles, ry=angles, rz=angles)
lengths = st.floats(-3000.0, 3000.0)


def _moved(geometry: Geometry, **parts: dict) -> Geometry:
    empty: dict = {"velo_halves": {}, "velo_modules": {}, "ut_layers": {}, "scifi_layers": {}}
    return geometry.align(Alignment.model_validate({"tag": "test", **empty, **parts}))


def test_nominal_moves_nothing(geometry: Geometry) -> None:
    np.testing.assert_array_equal(geometry.align(load_alignment(NOMINAL)).planes(), geometry.planes())


def test_a_shifted_layer(geometry: Geometry) -> None:
    plane = SCIFI_PLANES[3]
    moved = _moved(geometry, scifi_layers={3: {"x": 0.5, "z": 1.5}})
    difference = moved.planes() - geometry.planes()
    assert difference[plane, 0] == pytest.approx(1.5)
    assert not np.delete(difference, plane, axis=0).any()
    x0, _, _, _ = moved.frames[plane].lines(np.array([100.0]), moved.strip_slope(plane))
    assert x0[0] == pytest.approx(100.5)


def test_rotations_lean_a_layer_right_handedly(geometry: Geometry) -> None:
    plane = UT_PLANES[0]
    rx, ry = 1e-3, 2e-3
    leaning = _moved(geometry, ut_layers={0: {"rx": rx, "ry": ry}}).planes()[plane]
    # A turn by rx about x moves a point at +y to +z; a turn by ry about y moves a point at +x to -z.
    assert leaning == pytest.approx([2327.5, -np.tan(ry), np.tan(rx) / np.cos(ry)], rel=1e-12)


def test_a_rotated_layer_turns_its_strips(geometry: Geometry) -> None:
    plane = UT_PLANES[1]
    moved = _moved(geometry, ut_layers={1: {"rz": 1e-3}})
    _, _, dxdy, _ = moved.frames[plane].lines(np.zeros(1), moved.strip_slope(plane))
    assert np.arctan(dxdy[0]) == pytest.approx(np.arctan(geometry.strip_slope(plane)) - 1e-3, abs=1e-12)


def test_a_half_moves_its_modules_alone(geometry: Geometry) -> None:
    moved = _moved(geometry, velo_halves={"left": {"x": 0.1}}, velo_modules={1: {"x": 0.02}})
    for plane, (_, side) in zip(VELO_PLANES, geometry.velo.modules, strict=True):
        expected = (0.1 if side == "left" else 0.0) + (0.02 if plane == 1 else 0.0)
        assert moved.frames[plane].origin[0] == pytest.approx(expected)


def test_the_left_half_of_the_velo_is_at_positive_x(geometry: Geometry) -> None:
    """LHCb's left half is its A side, at x > 0. Each half moves the modules whose sensors are there."""
    for side, sign in (("left", 1.0), ("right", -1.0)):
        moved = _moved(
            geometry, velo_halves={side: {"y": 0.2}}, velo_sensors={4 * p: {"z": 1e-3} for p in VELO_PLANES}
        )
        for plane in VELO_PLANES:
            at_positive_x = moved.pieces[plane].origin[:, 0].mean() > 0
            expected = 0.2 if at_positive_x == (sign > 0) else 0.0
            assert moved.frames[plane].origin[1] == pytest.approx(expected)
    # The first module is at z = -287.5 mm, in the right half.
    assert geometry.velo.modules[0] == (-287.5, "right")


@given(displacement=displacements, u=lengths, v=lengths, slope=st.floats(-0.1, 0.1))
def test_points_lie_on_plane_and_line(displacement: Displacement, u: float, v: float, slope: float) -> None:
    frame = Frame.upright(8000.0, 0.0036)
    frame = frame.displaced(displacement.rotation, displacement.shift, frame.origin)
    point = frame.points(np.array([u]), np.array([v]))
    x, y, z = (float(coordinate[0]) for coordinate in point)
    z0, dzdx, dzdy = frame.plane
    assert z == pytest.approx(z0 + dzdx * x + dzdy * y, abs=1e-8)
    np.testing.assert_allclose(np.ravel(frame.local(point[0], point[1])), [u, v], atol=1e-8)
    line_x, line_z, dx, dz = (float(value[0]) for value in frame.lines(np.array([u - slope * v]), slope))
    assert (line_x + dx * y, line_z + dz * y) == pytest.approx((x, z), abs=1e-7)


@pytest.mark.parametrize(("names", "most"), [("x y z", 30.0), ("rx ry rz", 0.1)])
def test_more_than_an_open_velo_is_no_misalignment(names: str, most: float) -> None:
    """An open half of the VELO is 29 mm from its closed position."""
    for name in names.split():
        for sign in (1, -1):
            assert getattr(Displacement(**{name: sign * most}), name) == sign * most
            with pytest.raises(ValueError, match=name):
                Displacement(**{name: sign * 1.01 * most})


@given(displacement=displacements)
def test_rotations_are_rotations(displacement: Displacement) -> None:
    rotation = displacement.rotation
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-15)
    assert np.linalg.det(rotation) == pytest.approx(1.0)


OTHERS = "tag: t\nvelo_modules: {}\nut_layers: {}\nscifi_layers: {}\n"


@pytest.mark.parametrize(
    ("text", "meant"), [("x: 20", "0.02"), ("z: -1.5", "-0.0015"), ("rx: 0.002", "2e-06")]
)
def test_what_is_large_must_be_confirmed(tmp_path: Path, text: str, meant: str) -> None:
    """Displacements in mm and rad are small; larger ones are mostly in µm or mrad."""
    path = tmp_path / "alignment.yaml"
    path.write_text(f"velo_halves: {{left: {{{text}}}}}\n{OTHERS}")
    name = text.split(":")[0]
    with pytest.raises(
        ParkfError, match=rf"yaml:1: velo_halves\.left\.{name}: got .*write {meant};.*beyond_1_mm"
    ):
        load_alignment(path)
    path.write_text(path.read_text() + "beyond_1_mm: true\n")
    assert load_alignment(path).beyond_1_mm


def test_what_is_usual_needs_no_confirmation(tmp_path: Path) -> None:
    path = tmp_path / "alignment.yaml"
    path.write_text("velo_halves: {left: {x: 1.0, rz: -1.0e-3}}\n" + OTHERS)
    assert not load_alignment(path).beyond_1_mm


def test_numbers_that_round_to_zero_are_left_out():
    small = Displacement(x=0.1234567, y=1e-9, rz=1e-9, ry=-0.00123456)
    assert small.rounded(4, 6) == {"x": 0.1235, "ry": -0.001235}


def test_the_angles_of_a_rotation_come_back() -> None:
    turned = Displacement(x=0.1, y=-0.2, z=0.3, rx=0.04, ry=-0.05, rz=0.06)
    back = Displacement.of(turned.rotation, turned.shift)
    assert back.model_dump() == pytest.approx(turned.model_dump(), rel=1e-12)


def test_an_alignment_in_json_has_its_numbers_as_text(tmp_path):
    content = {"tag": "test", **{name: {} for name in SECTIONS}, "scifi_layers": {"3": {"x": 0.5}}}
    (tmp_path / "alignment.json").write_text(json.dumps(content))
    assert load_alignment(tmp_path / "alignment.json").scifi_layers[3].x == 0.5
