"""The magnet table: its form is the kernel's, the solver is exact where it can be, and training works."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parkf.detector.description import Beam
from parkf.detector.field import FieldMap
from parkf.errors import ParkfError
from parkf.steps.magnet import COEFFICIENTS, HEADER
from parkf.training.magnet_table import load_table, train_table
from parkf.training.magnet_table.form import (
    BINS_X,
    BINS_Y,
    Header,
    deviations,
    fit_header,
    polynomials,
    stencil,
)
from parkf.training.magnet_table.rays import draw_rays
from parkf.training.magnet_table.solve import chebyshev_basis, monomials, solve_grid, stiffness
from parkf.training.magnet_table.table import MagnetTable

HEADER_HERE = Header(2665.0, 7826.0, -29.5, -35.0, 310.0, -140.0)
BEAM = Beam(x=0.0, y=0.0, sigma_x=0.03, sigma_y=0.03, sigma_z=45.0)
inside = st.tuples(st.floats(-0.299, 0.299), st.floats(-0.249, 0.249))


def _states(count, seed=1):
    random = np.random.default_rng(seed)
    slopes = random.uniform(-1, 1, (count, 2)) * [0.29, 0.24]
    return np.column_stack([2665 * slopes, slopes + random.normal(0, 0.003, (count, 2))])


def _qop(count, seed=2):
    random = np.random.default_rng(seed)
    return random.choice([-1, 1], count) / random.uniform(1500, 50e3, count)


def _evaluate(table: MagnetTable, states, qop):
    """Evaluate the table in the plainest way."""
    header = Header(**dict(zip(HEADER, table.header.astype(float), strict=True)))
    _, bins, weights = stencil(header, states)
    u_x, u_y, f = deviations(header, states, qop)
    factors = {"1": np.ones(len(f)), "u_x": u_x, "u_y": u_y}
    flat = table.coefficients.reshape(BINS_X * BINS_Y, COEFFICIENTS).astype(float)
    mixed = np.einsum("ns,nsc->nc", weights, flat[bins])
    end = np.column_stack([states[:, :2] + (header.z_out - header.z_in) * states[:, 2:], states[:, 2:]])
    for column, component in enumerate(("x", "y", "tx", "ty")):
        for factor, place in polynomials(component):
            powers = f[:, None] ** np.arange(1, place.stop - place.start + 1)
            end[:, column] += factors[factor] * np.sum(powers * mixed[:, place], axis=1)
    return end


@given(inside)
@settings(max_examples=50)
def test_six_point_formula_is_exact_for_parabolas(place):
    states = np.array([[2665 * place[0], 2665 * place[1], 0.0, 0.0]])
    _, bins, weights = stencil(HEADER_HERE, states)
    assert weights.sum() == pytest.approx(1)
    x = (bins // BINS_Y + 0.5) / BINS_X * 0.6 - 0.3
    y = (bins % BINS_Y + 0.5) / BINS_Y * 0.5 - 0.25

    def parabola(x, y):
        return 1 + 2 * x - y + 3 * x * y - 4 * x**2 + 5 * y**2

    assert float(np.sum(weights * parabola(x, y))) == pytest.approx(parabola(*place), abs=1e-9)


def test_form_agrees_with_the_kernel():
    random = np.random.default_rng(5)
    coefficients = random.normal(size=(BINS_X, BINS_Y, COEFFICIENTS)).astype(np.float32)
    table = MagnetTable(HEADER_HERE.numbers().astype(np.float32), coefficients)
    states, qop = _states(2000), _qop(2000)
    for polarity in (-1, 1):
        got = table.extrapolate(states, qop * polarity, np.full(2000, float(polarity)))
        np.testing.assert_allclose(got, _evaluate(table, states, qop), rtol=1e-9, atol=1e-9)


def test_header_is_the_bend_before_the_magnet():
    states, qop = _states(5000), _qop(5000)
    x, y = states[:, 0] / 2665, states[:, 1] / 2665
    states[:, 2] = x + (-30 - 40 * x**2 + 300 * y**2) * qop
    states[:, 3] = y - 150 * x * y * qop
    header = fit_header(states, qop, 2665.0, 7826.0)
    got = [header.bendx, header.bendx_x2, header.bendx_y2, header.bendy_xy]
    np.testing.assert_allclose(got, [-30, -40, 300, -150], rtol=1e-9)
    u_x, u_y, _ = deviations(header, states, qop)
    np.testing.assert_allclose([u_x, u_y], 0, atol=1e-9)


@given(st.lists(st.floats(-1, 1), min_size=9, max_size=9), st.floats(-1, 1))
def test_monomials_are_the_same_polynomial(coefficients, f):
    c = np.array(coefficients)
    basis = chebyshev_basis(np.array([f]), np.zeros(1), np.zeros(1), (9, 1, 1))[0, :9]
    assert monomials(c) @ f ** np.arange(1, 10) == pytest.approx(f * basis @ c, abs=1e-9)


def test_solver_is_exact_for_coefficients_linear_in_the_grid():
    """Straight lines across the grid pass the smoothing untouched, and no ray is wrong."""
    count = 30_000
    states, qop = _states(count), _qop(count)
    cell, bins, weights = stencil(HEADER_HERE, states)
    u_x, u_y, f = deviations(HEADER_HERE, states, qop)
    basis = chebyshev_basis(f, u_x, u_y, (2, 1, 1))
    grid = np.arange(BINS_X * BINS_Y)[:, None] * [1e-4, -2e-4, 1e-4, 3e-4] + [1.0, 0.5, -0.2, 0.1]
    grid = np.stack([grid, -2 * grid], axis=2)
    grid += (np.arange(BINS_X * BINS_Y) % BINS_Y)[:, None, None] * 1e-3
    targets = np.einsum("ns,nsmt,nm->nt", weights, grid[bins], basis)
    solved = solve_grid(cell, bins, weights, basis, targets, np.ones(count), stiffness((2, 1, 1)))
    np.testing.assert_allclose(solved, grid, atol=1e-3)


@pytest.fixture(scope="module")
def dipole() -> FieldMap:
    """A smooth dipole in y, strong between 3 and 7 m; the magnet's size, not its shape."""
    x, y, z = np.arange(-4000, 4001, 400.0), np.arange(-3200, 3201, 400.0), np.arange(-600, 9601, 200.0)
    strength = -1.0 * np.exp(-0.5 * ((z - 5000) / 1400) ** 2)
    values = np.zeros((len(x), len(y), len(z), 3), dtype=np.float32)
    values[..., 1] = strength * (1 + (y[:, None] / 8000) ** 2)
    return FieldMap(np.array([x[0], y[0], z[0]]), np.array([400.0, 400.0, 200.0]), values)


def _draw(field, count, threads=1, purpose="test"):
    return draw_rays(
        field, z_in=2665.0, z_out=7826.0, beam=BEAM, count=count, seed=1, threads=threads, purpose=purpose
    )


@pytest.mark.slow
def test_training_follows_the_field(dipole, tmp_path):
    # 20,000 rays are few, but the bend itself is 2.8e6 mm MeV / p, 400 mm at 7 GeV.
    table, figures = train_table(dipole, z_in=2665.0, z_out=7826.0, beam=BEAM, rays=20_000, seed=3, threads=2)
    bins = {(b["p_min"], b["component"]): b for b in figures["fiducial"]}
    assert bins[5.0, "x"]["q68"] < 0.1
    assert bins[20.0, "tx"]["q68"] < 2e-5
    assert all(b["n"] > 20 for region in ("fiducial", "full") for b in figures[region])
    table.save(tmp_path / "table.npz")
    loaded = load_table(tmp_path / "table.npz")
    assert loaded.coefficients.tobytes() == table.coefficients.tobytes()
    assert loaded.header.tobytes() == table.header.tobytes()


def test_rays_do_not_depend_on_cores(dipole):
    one, two = (_draw(dipole, 500, threads=threads) for threads in (1, 2))
    assert one.start.tobytes() == two.start.tobytes()
    assert one.end.tobytes() == two.end.tobytes()


def test_rays_are_bent_and_scattered(dipole):
    rays = _draw(dipole, 5000)
    kick = (rays.end[:, 2] - rays.start[:, 2]) / rays.qop
    # ∫By dz of the toy dipole, 3.3 T·m, is a kick of about 1 GeV; MagUp bends a positive charge to −x.
    assert -1400 < np.median(kick) < -700
    u_x, _, _ = deviations(fit_header(rays.start, rays.qop, 2665.0, 7826.0), rays.start, rays.qop)
    # As particles with p < 3 GeV come out of the simulated detector; above, vertices spread more than kicks.
    soft = np.abs(rays.qop) > 1 / 3000
    assert np.quantile(np.abs(0.005 * u_x / rays.qop)[soft], 0.68) == pytest.approx(6.1, rel=0.15)


def test_training_and_test_rays_differ(dipole):
    training, test = (_draw(dipole, 200, purpose=purpose) for purpose in ("training", "test"))
    assert not np.isin(training.qop, test.qop).any()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no table", "not a magnet table"),
        ({"header": np.zeros(19, np.float32)}, "not a magnet table"),
        (
            {"header": np.zeros(18, np.float32), "coefficients": np.zeros((60, 50, 80), np.float32)},
            "header has shape",
        ),
        (
            {"header": np.zeros(19, np.float32), "coefficients": np.full((60, 50, 80), np.nan, np.float32)},
            "expected .* of finite float32",
        ),
    ],
)
def test_bad_table_is_refused(tmp_path, content, message):
    path = tmp_path / "table.npz"
    path.write_bytes(content) if isinstance(content, bytes) else np.savez(path, **content)
    with pytest.raises(ParkfError, match=message):
        load_table(path)
