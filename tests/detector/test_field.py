"""The dipole obeys Maxwell and has LHCb's figures; its map interpolates, and reports points outside it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parkf.detector.field import DipoleSources, FieldMap, check_magnet, evaluate_on_grid, make_field_map
from parkf.io.errors import ParkfError

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "../shared/data/field/lhcb_like_field.npz"


def _inside(count: int, seed: int = 1) -> np.ndarray:
    """Points well within the aperture, mm."""
    rng = np.random.default_rng(seed)
    z = rng.uniform(0.0, 9400.0, count)
    return np.column_stack(
        [
            rng.uniform(-0.9, 0.9, count) * (300 + 0.385 * z),
            rng.uniform(-0.9, 0.9, count) * (150 + 0.295 * z),
            z,
        ]
    )


@pytest.mark.parametrize(("name", "height"), [("dipole", 1.0), ("lhcb", 0.75)])
def test_sources_obey_maxwell(name: str, height: float) -> None:
    sources = DipoleSources.load(ROOT / f"data/field/{name}.json")
    points, step = _inside(200) * [1.0, height, 1.0], 0.3
    gradient = np.empty((len(points), 3, 3))
    for axis in range(3):
        shift = step * np.eye(3)[axis]
        gradient[:, :, axis] = (sources.field(points + shift) - sources.field(points - shift)) / (2 * step)
    scale = abs(gradient).max()
    assert abs(np.trace(gradient, axis1=1, axis2=2)).max() < 1e-5 * scale
    assert abs(gradient - gradient.transpose(0, 2, 1)).max() < 1e-5 * scale


def test_field_on_the_axis(sources: DipoleSources) -> None:
    z = np.arange(0.0, 10000.0)
    by = sources.field(np.column_stack([0 * z, 0 * z, z]))[:, 1]
    assert by.min() == pytest.approx(-1.0434, abs=1e-4)
    assert z[by.argmin()] == pytest.approx(4711, abs=1)
    half = z[by < 0.5 * by.min()]
    assert (half[0], half[-1]) == pytest.approx((3286, 7069), abs=1.5)
    for begin, end, expected in (
        (0, 2642, -0.136),
        (2642, 7826, -3.752),
        (7826, 9403, -0.265),
        (0, 10000, -4.190),
    ):
        integral = by[(z >= begin) & (z < end)].sum() / 1000
        assert integral == pytest.approx(expected, abs=1e-3)


@pytest.mark.skipif(not EXAMPLE.is_file(), reason="the example map of the field is not here")
def test_map_equals_an_independent_evaluation(field: FieldMap) -> None:
    with np.load(EXAMPLE) as example:
        ix, iy, iz = np.nonzero(example["valid"])
        points = np.column_stack([example["x"][ix], example["y"][iy], example["z"][iz]]).astype(float)
        expected = np.column_stack([example[name][ix, iy, iz] for name in ("Bx", "By", "Bz")])
    here = (
        (points[:, 0] <= 300 + 0.385 * points[:, 2])
        & (points[:, 1] <= 150 + 0.295 * points[:, 2])
        & (points[:, 2] >= -500)
        & (points[:, 2] <= 9600)
    )
    assert here.sum() > 30000
    np.testing.assert_allclose(field.at(points[here]), expected[here], atol=2e-6)


def test_map_is_finite_and_moderate(field: FieldMap) -> None:
    assert np.isfinite(field.values).all()
    assert abs(field.values).max() < 3.5


def test_map_has_the_dipoles_symmetry(field: FieldMap) -> None:
    points = _inside(100)
    b = field.at(points)
    np.testing.assert_allclose(field.at(points * (-1, 1, 1)), b * (-1, 1, 1), atol=1e-6)
    np.testing.assert_allclose(field.at(points * (1, -1, 1)), b * (-1, 1, -1), atol=1e-6)


def test_polarity_turns_the_sign(field: FieldMap) -> None:
    points = _inside(10)
    np.testing.assert_array_equal(field.at(points, +1), -field.at(points, -1))
    with pytest.raises(ParkfError, match="polarity 0, expected"):
        field.for_polarity(0)


def test_cubic_is_closer_to_the_sources(sources: DipoleSources, field: FieldMap) -> None:
    cubic = FieldMap(field.origin, field.spacing, field.values, "cubic")
    points = _inside(2000)
    points = points[(abs(points[:, 0]) < 0.2 * points[:, 2]) & (abs(points[:, 1]) < 0.15 * points[:, 2])]
    exact = sources.field(points)
    linear_error, cubic_error = (np.quantile(abs(m.at(points) - exact), 0.95) for m in (field, cubic))
    assert linear_error < 2e-3
    assert cubic_error < 0.1 * linear_error


def _random_map(**options: str) -> FieldMap:
    values = np.random.default_rng(5).normal(size=(6, 5, 7, 3)).astype(np.float32)
    return FieldMap(np.array([-10.0, 3.0, 100.0]), np.array([4.0, 1.0, 2.5]), values, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("interpolation", ["linear", "cubic"])
def test_interpolation_passes_through_the_nodes(interpolation: str) -> None:
    field = _random_map(interpolation=interpolation)
    nodes = np.stack(np.meshgrid(*(np.arange(n) for n in (6, 5, 7)), indexing="ij"), axis=-1).reshape(-1, 3)
    found = field.at(field.origin + nodes * field.spacing)
    np.testing.assert_allclose(found, field.values.reshape(-1, 3), atol=3e-6)


@given(st.tuples(*(st.floats(0.0, 1.0) for _ in range(3))))
def test_trilinear_is_exact_for_linear_fields(fraction: tuple[float, float, float]) -> None:
    corners = np.stack(np.meshgrid(*([np.arange(3.0)] * 3), indexing="ij"), axis=-1)
    matrix = np.array([[1.0, -2.0, 0.5], [0.25, 3.0, -1.0], [2.0, 0.0, 1.0]])
    field = FieldMap(np.zeros(3), np.ones(3), (corners @ matrix).astype(np.float32))
    point = 2.0 * np.array([fraction])
    np.testing.assert_allclose(field.at(point), point @ matrix, atol=1e-12)


def test_outside_is_an_error_or_zero() -> None:
    outside = np.array([[0.0, 5.0, 110.0], [0.0, 5.0, 200.0]])
    with pytest.raises(ParkfError, match=r"1 of 2 points lie outside .* number 1 at \[0\.0, 5\.0, 200\.0\]"):
        _random_map().at(outside)
    assert not _random_map(outside="zero").at(outside)[1].any()
    with pytest.raises(ParkfError, match="outside"):
        _random_map(outside="zero").at(np.array([[np.nan, 5.0, 110.0]]))


def test_map_file_round_trip(tmp_path: Path) -> None:
    field, path = _random_map(), tmp_path / "map.npz"
    field.save(path)
    first = path.read_bytes()
    np.testing.assert_array_equal(FieldMap.load(path).values, field.values)
    field.save(path)
    assert path.read_bytes() == first
    smooth = _random_map(interpolation="cubic", outside="zero")
    smooth.save(path)
    again = FieldMap.load(path)
    assert (again.interpolation, again.outside) == ("cubic", "zero")


@pytest.mark.parametrize("axis", range(3))
def test_a_map_has_two_nodes_along_each_axis(axis: int) -> None:
    """Nothing can be interpolated along an axis with one node."""
    counts = [2, 2, 2]
    FieldMap(np.zeros(3), np.ones(3), np.zeros((*counts, 3), np.float32))
    counts[axis] = 1
    with pytest.raises(ParkfError, match="at least two nodes an axis"):
        FieldMap(np.zeros(3), np.ones(3), np.zeros((*counts, 3), np.float32))


def test_make_field_map_evaluates_sources_and_reads_maps(tmp_path: Path, field: FieldMap) -> None:
    dipole = ROOT / "data/field/dipole.json"
    made = make_field_map(dipole, spacing=100.0, interpolation="linear", outside="error")
    np.testing.assert_array_equal(made.values, field.values)
    path = tmp_path / "map.npz"
    made.save(path)
    smooth = make_field_map(path, spacing=100.0, interpolation="cubic", outside="zero")
    assert (smooth.interpolation, smooth.outside) == ("cubic", "zero")


def test_grid_covers_what_it_is_asked_for(sources: DipoleSources) -> None:
    coarse = evaluate_on_grid(sources, spacing=500.0, x_max=1000.0, y_max=500.0, z_min=3000.0, z_max=5000.0)
    np.testing.assert_allclose(coarse.origin, [-1000.0, -500.0, 3000.0])
    np.testing.assert_allclose(coarse.upper, [1000.0, 500.0, 5000.0])
    middle = np.array([[500.0, -500.0, 4000.0]])
    np.testing.assert_allclose(coarse.at(middle), sources.field(middle), atol=1e-6)


def test_sources_that_are_not_mirrored_are_evaluated_on_all_sides() -> None:
    sources = DipoleSources.load(ROOT / "data/field/lhcb.json")
    coarse = evaluate_on_grid(sources, spacing=500.0, x_max=1000.0, y_max=500.0, z_min=3000.0, z_max=4000.0)
    nodes = np.array([[sx * 1000.0, sy * 500.0, 3500.0] for sx in (-1, 1) for sy in (-1, 1)])
    np.testing.assert_allclose(coarse.at(nodes), sources.field(nodes), atol=1e-6)
    by = coarse.at(nodes)[:, 1]
    assert np.ptp(by) > 1e-3  # the four sides differ


def test_an_old_file_of_sources_is_mirrored(sources: DipoleSources) -> None:
    assert sources.mirrored
    quarter = DipoleSources(**{**sources.model_dump(), "mirrored": False})
    one = np.array([[100.0, 200.0, 5000.0]])
    four = sum(s * quarter.field(one * [r, s, 1.0]) * [r, s, 1.0] for r in (-1, 1) for s in (-1, 1))
    np.testing.assert_allclose(four, sources.field(one), rtol=1e-12)


@pytest.mark.parametrize(
    ("changes", "remedy"),
    [
        ({"origin": 1e-3, "spacing": 1e-3}, r"is it in m\? multiply origin and spacing by 1000"),
        ({"origin": 0.1, "spacing": 0.1}, r"is it in cm\? multiply origin and spacing by 10"),
        ({"values": 0.1}, r"has the integral 0\.4.* T m, expected 1 to 20 T m"),
        ({"values": 5.0}, r"reaches 5\.2.* T, expected 0\.01 to 5"),
        ({"values": -1.0}, "expected that of MagDown, By < 0; turn the sign"),
    ],
)
def test_a_map_in_other_units_is_no_magnet(field: FieldMap, changes: dict, remedy: str) -> None:
    """Its place and its By along the beam are those of LHCb's magnet in mm and T."""
    check_magnet(field, Path("mine.npz"))
    wrong = replace(field, **{name: np.float32(by) * getattr(field, name) for name, by in changes.items()})
    with pytest.raises(ParkfError, match=f"mine\\.npz: .*{remedy}"):
        check_magnet(wrong, Path("mine.npz"))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("side", [1, -1])
def test_a_map_beside_the_beam_is_no_magnet(field: FieldMap, axis: int, side: int) -> None:
    middle = 0.5 * (field.origin + field.upper)
    origin = field.origin.copy()
    origin[axis] += side * 1.01 * (field.upper - middle)[axis] - middle[axis]
    with pytest.raises(ParkfError, match="expected the magnet: around the beam"):
        check_magnet(replace(field, origin=origin), Path("mine.npz"))


def test_the_integral_is_along_the_beam() -> None:
    """By of -0.05 T over 12 m has the integral 0.6 T m."""
    values = np.zeros((3, 5, 13, 3), np.float32)
    values[..., 1] = -0.05
    uniform = FieldMap(np.array([-400.0, -600.0, -1000.0]), np.array([400.0, 300.0, 1000.0]), values)
    with pytest.raises(ParkfError, match=r"has the integral 0\.6 T m"):
        check_magnet(uniform, Path("mine.npz"))


@pytest.mark.parametrize("sign", [1, -1])
def test_a_field_in_gauss_is_refused_whatever_its_sign(sign: int) -> None:
    values = np.zeros((2, 2, 2, 3), np.float32)
    values[1, 0, 1, 1] = sign * 10400.0
    with pytest.raises(ParkfError, match=r"values\[1, 0, 1, 1\] is .*divide a map in G by 10000"):
        FieldMap(np.zeros(3), np.ones(3), values)
