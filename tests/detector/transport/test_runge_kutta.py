"""Runge-Kutta agrees with exact solutions, fine steps, numerical derivatives and the dipole's kick."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parkf.detector.field import FieldMap
from parkf.detector.transport import propagate
from parkf.io.errors import ParkfError

KAPPA = 0.299792458  # MeV / (T mm)


def _states(count: int, p: float | tuple[float, float], seed: int = 1) -> np.ndarray:
    """States of both charges at z = 0 that point into the acceptance."""
    rng = np.random.default_rng(seed)
    momentum = np.exp(rng.uniform(*np.log(p), count)) if isinstance(p, tuple) else np.full(count, p)
    return np.column_stack(
        [
            rng.normal(0.0, 1.0, count),
            rng.normal(0.0, 1.0, count),
            rng.uniform(-0.25, 0.25, count),
            rng.uniform(-0.2, 0.2, count),
            rng.choice([-1.0, 1.0], count) / momentum,
        ]
    )


def _uniform(field: tuple[float, float, float]) -> FieldMap:
    values = np.broadcast_to(np.array(field, dtype=np.float32), (2, 2, 2, 3))
    return FieldMap(np.full(3, -9000.0), np.full(3, 18000.0), np.ascontiguousarray(values))


@given(
    tx=st.floats(-0.3, 0.3),
    ty=st.floats(-0.3, 0.3),
    p=st.floats(2000.0, 1e5),
    charge=st.sampled_from([-1.0, 1.0]),
)
def test_uniform_field_gives_a_helix(tx: float, ty: float, p: float, charge: float) -> None:
    """In By alone, py is constant, px grows by charge kappa |By| dz, and the path across By is a circle."""
    by, length = -0.5, 3000.0
    ends = propagate(
        _uniform((0.0, by, 0.0)), -1, np.array([[0, 0, tx, ty, charge / p]]), 0.0, (length, 0.0, 0.0)
    )
    assert ends.ok.all()
    x, y, tx1, ty1, qop = ends.states[0]
    norm = np.sqrt(1 + tx * tx + ty * ty)
    px, py, pz = p * tx / norm, p * ty / norm, p / norm
    px1 = px - charge * KAPPA * by * length
    pz1 = np.sqrt(px * px + pz * pz - px1 * px1)
    assert qop == charge / p
    assert (tx1, ty1) == pytest.approx((px1 / pz1, py / pz1), abs=1e-9)
    # Circle: dx = (pz - pz1) / (kappa q |B|). Along the field, the path is proportional to the angle turned.
    curvature = -charge * KAPPA * by
    assert x == pytest.approx((pz - pz1) / curvature, abs=1e-4)
    angle = np.arctan2(px1, pz1) - np.arctan2(px, pz)
    assert y == pytest.approx(py * angle / curvature, abs=1e-4)


def _fine_steps(
    field: FieldMap, polarity: int, states: np.ndarray, z: float, end: float, step: float
) -> np.ndarray:
    """Classical Runge-Kutta in p(z) and x(z): the Lorentz force acts on the momentum; no slopes are used."""
    charge = np.sign(states[:, 4])
    norm = np.sqrt(1 + states[:, 2] ** 2 + states[:, 3] ** 2)
    momentum = (
        np.column_stack([states[:, 2], states[:, 3], np.ones(len(states))])
        / (norm * abs(states[:, 4]))[:, None]
    )
    vector = np.hstack([states[:, :2], momentum])

    def slope(v: np.ndarray, at: float) -> np.ndarray:
        b = field.at(np.column_stack([v[:, :2], np.full(len(v), at)]), polarity)
        direction = v[:, 2:] / v[:, 4:5]  # dr/dz
        return np.hstack([direction[:, :2], KAPPA * charge[:, None] * np.cross(direction, b)])

    for i in range(round((end - z) / step)):
        at = z + i * step
        k1 = slope(vector, at)
        k2 = slope(vector + 0.5 * step * k1, at + 0.5 * step)
        k3 = slope(vector + 0.5 * step * k2, at + 0.5 * step)
        k4 = slope(vector + step * k3, at + step)
        vector = vector + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    magnitude = np.linalg.norm(vector[:, 2:], axis=1)
    return np.column_stack([vector[:, :2], vector[:, 2:4] / vector[:, 4:5], charge / magnitude])


@pytest.mark.parametrize("interpolation", ["linear", "cubic"])
def test_agrees_with_fine_steps(field: FieldMap, interpolation: str) -> None:
    """At 5 GeV over the whole detector, on the same map: within 1 um, equal slopes, momentum conserved."""
    grid = FieldMap(field.origin, field.spacing, field.values, interpolation)  # type: ignore[arg-type]
    states = _states(200, 5000.0)
    reference = _fine_steps(grid, -1, states, 0.0, 9400.0, 4.0)
    np.testing.assert_allclose(reference[:, 4], states[:, 4], rtol=1e-9)
    ends = propagate(grid, -1, states, 0.0, (9400.0, 0.0, 0.0))
    assert ends.ok.all()
    difference = abs(ends.states - reference).max(axis=0)
    assert (difference[:2] < 1e-3).all()
    assert (difference[2:4] < 3e-7).all()


@given(
    p=st.floats(2000.0, 1e5),
    tx=st.floats(-0.2, 0.2),
    ty=st.floats(-0.2, 0.2),
    charge=st.sampled_from([-1.0, 1.0]),
    polarity=st.sampled_from([-1, 1]),
)
def test_there_and_back(
    field: FieldMap, p: float, tx: float, ty: float, charge: float, polarity: int
) -> None:
    start = np.array([[0.1, -0.2, tx, ty, charge / p]])
    there = propagate(field, polarity, start, 0.0, (8700.0, 0.0, 0.0036), tolerance=1e-6)
    if not there.ok[0]:  # bent out of the map
        return
    back = propagate(field, polarity, there.states, there.z, (0.0, 0.0, 0.0), tolerance=1e-6)
    np.testing.assert_allclose(back.states[0, :2], start[0, :2], atol=1e-4)
    np.testing.assert_allclose(back.states[0, 2:], start[0, 2:], atol=1e-7)


def test_polarity_and_charge_mirror(field: FieldMap) -> None:
    states = _states(50, 4000.0)
    opposite = states * (1, 1, 1, 1, -1)
    up = propagate(field, +1, opposite, 0.0, (8000.0, 0.0, 0.0))
    down = propagate(field, -1, states, 0.0, (8000.0, 0.0, 0.0))
    np.testing.assert_array_equal(up.states[:, :4], down.states[:, :4])


def test_kick_of_the_magnet(field: FieldMap) -> None:
    """The kick is 1.2 GeV, and positive charges go to +x in MagDown."""
    states = _states(500, 20000.0)
    states[:, 4] = 1 / 20000.0
    states[:, 3] *= 0.5
    ends = propagate(field, -1, states, 0.0, (9400.0, 0.0, 0.0)).states
    before, after = (s[:, 2] / np.sqrt(1 + s[:, 2] ** 2 + s[:, 3] ** 2) for s in (states, ends))
    kick = 20.0 * (after - before)
    assert np.median(kick) == pytest.approx(1.25, abs=0.05)
    assert (kick > 1.0).all()


def test_ends_on_the_leaning_plane(field: FieldMap) -> None:
    plane = (8508.0, 0.002, 0.0036)
    ends = propagate(field, -1, _states(100, (2000.0, 50000.0)), 0.0, plane)
    x, y = ends.states[ends.ok, 0], ends.states[ends.ok, 1]
    np.testing.assert_allclose(ends.z[ends.ok], plane[0] + plane[1] * x + plane[2] * y, atol=1e-9)


@pytest.mark.parametrize("interpolation", ["linear", "cubic"])
def test_jacobian_equals_differences(field: FieldMap, interpolation: str) -> None:
    """The Jacobian agrees with central differences, in which the kinks of the trilinear map are visible."""
    grid = FieldMap(field.origin, field.spacing, field.values, interpolation)  # type: ignore[arg-type]
    states, plane = _states(40, (3000.0, 30000.0)), (7900.0, 0.0, 0.0036)
    found = propagate(grid, -1, states, 0.0, plane, tolerance=1e-6, jacobian=True)
    assert found.jacobian is not None
    steps = np.array([1e-2, 1e-2, 1e-6, 1e-6, 1e-9])
    expected = np.empty_like(found.jacobian)
    for column, step in enumerate(steps):
        shift = step * np.eye(5)[column]
        up, down = (
            propagate(grid, -1, states + s, 0.0, plane, tolerance=1e-8).states for s in (shift, -shift)
        )
        expected[:, :, column] = (up - down) / (2 * step)
    # Scales for the comparison: 1 mm for x and y, 1e-3 for slopes, and a tenth of 1/p for q/p.
    scale = np.outer([1.0, 1.0, 1e-3, 1e-3, 1e-5], 1 / np.array([1.0, 1.0, 1e-3, 1e-3, 1e-5]))
    assert abs((found.jacobian - expected) / scale).max() < (2e-3 if interpolation == "cubic" else 2e-2)
    plain = propagate(grid, -1, states, 0.0, plane, tolerance=1e-6)
    np.testing.assert_allclose(found.states, plain.states, rtol=1e-12, atol=1e-9)


def test_leaving_the_map_is_never_silent(field: FieldMap) -> None:
    states = np.array([[0, 0, 0.6, 0.0, 1e-4], [0, 0, 0.1, 0.0, 1e-4], [0, 0, np.nan, 0.0, 1e-4]])
    ends = propagate(field, -1, states, 0.0, (9000.0, 0.0, 0.0))
    assert ends.ok.tolist() == [False, True, False]
    assert np.isnan(ends.states[[0, 2]]).all()
    assert np.isnan(ends.z[[0, 2]]).all()
    ending = FieldMap(field.origin, field.spacing, field.values, outside="zero")
    assert propagate(ending, -1, states, 0.0, (9000.0, 0.0, 0.0)).ok.tolist() == [True, True, False]


def test_a_looper_is_not_ok() -> None:
    ends = propagate(
        _uniform((0.0, 1.0, 0.0)), -1, np.array([[0, 0, 0, 0, 1 / 300.0]]), 0.0, (5000.0, 0.0, 0.0)
    )
    assert not ends.ok.any()


def test_threads_change_nothing(field: FieldMap) -> None:
    states = _states(500, (1500.0, 1e5))
    one, three = (propagate(field, 1, states, 0.0, (9000.0, 0.0, 0.0), threads=n).states for n in (1, 3))
    assert one.tobytes() == three.tobytes()


@settings(max_examples=10)
@given(count=st.integers(0, 3))
def test_any_number_of_states(field: FieldMap, count: int) -> None:
    ends = propagate(field, -1, _states(count, 5000.0), 0.0, (100.0, 0.0, 0.0), jacobian=True)
    assert ends.states.shape == (count, 5)
    assert ends.jacobian is not None
    assert ends.jacobian.shape == (count, 5, 5)


def test_bad_input_is_refused(field: FieldMap) -> None:
    with pytest.raises(ParkfError, match=r"shape \(3, 4\), expected \(n, 5\)"):
        propagate(field, -1, np.zeros((3, 4)), 0.0, (1.0, 0.0, 0.0))
    with pytest.raises(ParkfError, match="tolerance 0"):
        propagate(field, -1, np.zeros((3, 5)), 0.0, (1.0, 0.0, 0.0), tolerance=0)
