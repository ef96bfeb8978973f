"""The magnet table: its form is the kernel's, the solver is exact where it can be, and training works."""

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from parkf.detector.description import Beam
from parkf.detector.field import FieldMap
from parkf.detector.transport import propagate
from parkf.io.errors import ParkfError
from parkf.model.layout import HEADER, TABLE_SHAPE
from parkf.model.steps import FORMS, magnet
from parkf.training.magnet_table import load_table
from parkf.training.magnet_table.band import ACCURACY, BINS, DISTANCES, solve
from parkf.training.magnet_table.form import (
    BINS_X,
    BINS_Y,
    Header,
    bend_before,
    deviations,
    inside_grid,
    make_header,
    polynomials,
    stencil,
)
from parkf.training.magnet_table.rays import Magnet, Rays, _slopes, independent_rays, training_rays
from parkf.training.magnet_table.solve import Rows, accumulate, monomials, solve_grids
from parkf.training.magnet_table.table import MagnetTable
from parkf.training.magnet_table.train import ROUGH_ACCURACY, _targets, fit_slope_change, train_table

BENDS = {"bendx": -29.5, "bendx_x2": -35.0, "bendx_y2": 310.0, "bendy_xy": -140.0}
HEADERS = {name: make_header(forms.table, 2665.0, 7826.0, BENDS) for name, forms in FORMS.items()}
BEAM = Beam(x=0.0, y=0.0, sigma_x=0.03, sigma_y=0.03, sigma_z=45.0)
every_form = pytest.mark.parametrize("name", sorted(FORMS))
inside = st.tuples(st.floats(-0.299, 0.299), st.floats(-0.249, 0.249))


_weights = sp.lambdify([magnet.a, magnet.b], list(magnet.WEIGHTS.values()), "numpy")


def six_weights(offsets):
    """Weights (n, 6) of the six bins, by the formula that the kernel is generated from."""
    return np.stack(_weights(*offsets.T), axis=1)


def _states(count, seed=1):
    random = np.random.default_rng(seed)
    # All over the grid.
    slopes = random.uniform(-1, 1, (count, 2)) * [0.45, 0.34]
    return np.column_stack([2665 * slopes, slopes + random.normal(0, 0.003, (count, 2))])


def _qop(count, seed=2):
    random = np.random.default_rng(seed)
    return random.choice([-1, 1], count) / random.uniform(1500, 50e3, count)


def _evaluate(table: MagnetTable, states, qop):
    """Evaluate the table with NumPy, polynomial by polynomial."""
    header = Header.of(table.header)
    _, bins, offsets = stencil(header, states)
    u_x, u_y, f = deviations(header, states, qop)
    factors = {"1": np.ones(len(f)), "u_x": u_x, "u_y": u_y}
    flat = table.coefficients.reshape(BINS, TABLE_SHAPE[2]).astype(float)
    mixed = np.einsum("ns,nsc->nc", six_weights(offsets), flat[bins])
    x, y, tx, ty = states.T
    sines = header.form.sines
    length = np.sqrt(1 + tx**2 + ty**2) if sines else 1.0
    dz = header["z_out"] - header["z_in"]
    end = np.column_stack([x + dz * tx, y + dz * ty, tx / length, ty / length])
    for column, component in enumerate(("x", "y", "tx", "ty")):
        for factor, place in polynomials(header.form, component).items():
            powers = f[:, None] ** np.arange(1, place.stop - place.start + 1)
            end[:, column] += factors[factor] * np.sum(powers * mixed[:, place], axis=1)
    if sines:
        end[:, 2:] /= np.sqrt(1 - end[:, 2:3] ** 2 - end[:, 3:] ** 2)
    return end


def _rows(header, states, qop):
    """Return the rows of rays of equal weight, and their order."""
    cell, bins, offsets = stencil(header, states)
    u_x, u_y, f = deviations(header, states, qop)
    order = np.argsort(cell, kind="stable")
    starts = np.flatnonzero(np.diff(cell[order], prepend=-1))
    u = np.stack([u_x, u_y], axis=1)[order]
    edges = np.append(starts, len(order))
    return Rows(offsets[order], bins[order[starts]], edges, u, f[order], np.ones(len(order))), order


def _design(header, states, qop, degrees):
    """Functions that multiply the coefficients of a bin, (n, m), and the weights of all bins, (n, BINS)."""
    _, bins, offsets = stencil(header, states)
    u_x, u_y, f = deviations(header, states, qop)
    powers = [np.polynomial.chebyshev.chebvander(f, degree - 1) for degree in degrees]
    basis = np.concatenate([powers[0], u_x[:, None] * powers[1], u_y[:, None] * powers[2]], axis=1)
    weights = np.zeros((len(f), BINS))
    np.add.at(weights, (np.arange(len(f))[:, None], bins), six_weights(offsets))
    return basis, weights


@every_form
@given(place=inside)
@settings(max_examples=50)
def test_six_point_formula_is_exact_for_parabolas(name, place):
    header = HEADERS[name]
    edge_x, edge_y = header["tx_max"], header["ty_max"]
    depth = 2665 + float(header.form.depth) * (7826 - 2665)
    states = np.array([[depth * place[0], depth * place[1], 0.0, 0.0]])
    _, bins, offsets = stencil(header, states)
    weights = six_weights(offsets)
    assert weights.sum() == pytest.approx(1)
    x = ((bins // BINS_Y + 0.5) / BINS_X * 2 - 1) * edge_x
    y = ((bins % BINS_Y + 0.5) / BINS_Y * 2 - 1) * edge_y

    def parabola(x, y):
        return 1 + 2 * x - y + 3 * x * y - 4 * x**2 + 5 * y**2

    assert float(np.sum(weights * parabola(x, y))) == pytest.approx(parabola(*place), abs=1e-9)


@every_form
def test_a_straight_line_finds_the_bin_where_it_is_at_the_forms_depth(name):
    """Two lines that meet at this depth have the same bins; lines that do not meet there have others."""
    header = HEADERS[name]
    lever = float(header.form.depth) * (7826 - 2665)
    one, other = np.array(
        [[300.0, -200.0, 0.1, 0.05], [300.0 + 0.02 * lever, -200.0 - 0.01 * lever, 0.08, 0.06]]
    )
    for state, same in ((other, True), (other + np.eye(4)[0] * 30, False)):
        (_, bins, offsets), (_, bins_other, offsets_other) = (stencil(header, s[None]) for s in (one, state))
        assert (np.array_equal(bins, bins_other) and np.allclose(offsets, offsets_other)) == same


@every_form
def test_form_agrees_with_the_kernel(name):
    random = np.random.default_rng(5)
    # The coefficients are so small that the sines of the slopes stay below one.
    coefficients = random.normal(0, 0.01, size=TABLE_SHAPE).astype(np.float32)
    table = MagnetTable(HEADERS[name].numbers.astype(np.float32), coefficients)
    states, qop = _states(2000), _qop(2000)
    for polarity in (-1, 1):
        got = table.extrapolate(states, qop * polarity, np.full(2000, float(polarity)))
        np.testing.assert_allclose(got, _evaluate(table, states, qop), rtol=1e-9, atol=1e-9)


def test_header_is_the_bend_before_the_magnet():
    states, qop = _states(5000), _qop(5000)
    x, y = states[:, 0] / 2665, states[:, 1] / 2665
    states[:, 2] = x + (-30 - 40 * x**2 + 300 * y**2) * qop
    states[:, 3] = y - 150 * x * y * qop
    bends = bend_before(states, qop, 2665.0)
    np.testing.assert_allclose(list(bends.values()), [-30, -40, 300, -150], rtol=1e-9)
    header = make_header(FORMS["production"].table, 2665.0, 7826.0, bends)
    u_x, u_y, _ = deviations(header, states, qop)
    np.testing.assert_allclose([u_x, u_y], 0, atol=1e-9)


@every_form
def test_header_tells_its_form(name):
    header = Header.of(HEADERS[name].numbers.astype(np.float32))
    assert header.form is FORMS[name].table


def test_header_of_no_form_is_refused():
    numbers = HEADERS["production"].numbers.copy()
    numbers[HEADER.index("deg_y2")] = 6
    with pytest.raises(ParkfError, match="of no known forms"):
        Header.of(numbers)


@given(st.lists(st.floats(-1, 1), min_size=9, max_size=9), st.floats(-1, 1))
def test_monomials_are_the_same_polynomial(coefficients, f):
    c = np.array(coefficients)
    chebyshev = np.polynomial.chebyshev.chebval(f, c)
    assert monomials(c) @ f ** np.arange(1, 10) == pytest.approx(f * chebyshev, abs=1e-9)


def test_sums_are_the_normal_equations():
    """The sums are over all rays, of products of six-point weights and Chebyshev polynomials."""
    header, degrees = HEADERS["production"], (4, 3, 2)
    states, qop = _states(400), _qop(400)
    rows, order = _rows(header, states, qop)
    basis, weights = _design(header, states[order], qop[order], degrees)
    weight = np.random.default_rng(3).uniform(0.5, 2, 400)
    targets = np.random.default_rng(4).normal(size=(400, 2))
    rows = Rows(rows.offsets, rows.bins, rows.starts, rows.u, rows.f, weight)
    normal = accumulate(rows, targets, degrees)
    right = np.einsum("n,nb,nm,nt->bmt", weight, weights, basis, targets, optimize=True)
    np.testing.assert_allclose(normal.right, right, atol=1e-10)
    found = normal.matrix(np.arange(9))
    np.testing.assert_array_equal(normal.matrix(np.array([1, 4, 8])), found[..., [[1], [4], [8]], [1, 4, 8]])
    for first, d in np.random.default_rng(5).integers(0, (2800, len(DISTANCES)), (300, 2)):
        both = weight * weights[:, first] * weights[:, first + DISTANCES[d]]
        np.testing.assert_allclose(found[first, d], (basis * both[:, None]).T @ basis, atol=1e-10)


def test_solution_by_strips_is_the_solution():
    """It agrees with a sparse solver of SciPy."""
    random = np.random.default_rng(6)
    diagonal, rest = random.normal(size=(BINS, 2, 2)), random.normal(0, 0.2, (BINS, len(DISTANCES), 2, 2))
    blocks = np.zeros((BINS, len(DISTANCES), 2, 2))
    matrix = scipy.sparse.csc_matrix((2 * BINS, 2 * BINS))
    for d, distance in enumerate(DISTANCES):
        one = []
        for first in range(BINS - distance):
            # Bins that are close in number, but at opposite ends of a column, do not couple.
            neighbours = abs((first + distance) % BINS_Y - first % BINS_Y) <= 2
            block = (rest[first, d] + rest[first, d].T) * neighbours
            if distance == 0:
                block = diagonal[first] @ diagonal[first].T + 12 * np.eye(2)
            blocks[first, d] = block
            one.append(block)
        shifted = scipy.sparse.block_diag(one, "csc")
        shifted = (
            scipy.sparse.bmat([[None, shifted], [scipy.sparse.csc_matrix((2 * distance,) * 2), None]])
            if distance
            else shifted
        )
        matrix = matrix + (shifted + shifted.T if distance else shifted)
    right = random.normal(size=(BINS, 2, 3))
    got = solve(blocks, right, accuracy=1e-12)
    expected = scipy.sparse.linalg.spsolve(matrix.tocsc(), right.reshape(2 * BINS, 3))
    np.testing.assert_allclose(got.reshape(2 * BINS, 3), expected, atol=1e-10)


def test_what_float32_cannot_factorise_is_solved_all_the_same():
    """Two unknowns of each bin differ by a fraction that float32 does not resolve."""
    blocks = np.zeros((BINS, len(DISTANCES), 2, 2))
    blocks[:, 0] = [[1.0, 1 - 1e-9], [1 - 1e-9, 1.0]]
    expected = np.random.default_rng(7).normal(size=(BINS, 2, 1))
    np.testing.assert_allclose(solve(blocks, blocks[:, 0] @ expected), expected, atol=1e-6)


def test_too_few_rays_are_refused():
    """A matrix that is not positive definite."""
    blocks = np.zeros((BINS, len(DISTANCES), 1, 1))
    blocks[:, 0] = -1.0
    with pytest.raises(ParkfError, match="more rays"):
        solve(blocks, np.ones((BINS, 1, 1)))


def test_bins_without_rays_follow_from_their_neighbours():
    """All rays are in one corner of the grid and have one target. The ridge alone decides far from there."""
    header, degrees = HEADERS["production"], (1, 1, 1)
    states, qop = _states(300), _qop(300)
    states[:, :2] = 0.02 * states[:, :2]
    states[:, 2:] = 0.0
    rows, order = _rows(header, states, qop)
    (found,) = solve_grids(rows, [(np.ones((300, 1)), degrees, ACCURACY)])
    assert np.isfinite(found).all()
    basis, weights = _design(header, states[order], qop[order], degrees)
    fitted = np.einsum("nmt,nm->nt", np.tensordot(weights, found, 1), basis)
    np.testing.assert_allclose(fitted, 1.0, atol=1e-3)


def test_solver_is_exact_for_coefficients_linear_in_the_grid():
    """The smoothing does not change coefficients that are linear in the grid; all rays agree with them."""
    count = 30_000
    header, degrees = HEADERS["production"], (2, 1, 1)
    states, qop = _states(count), _qop(count)
    rows, order = _rows(header, states, qop)
    basis, weights = _design(header, states[order], qop[order], degrees)
    grid = np.arange(BINS)[:, None] * [1e-4, -2e-4, 1e-4, 3e-4] + [1.0, 0.5, -0.2, 0.1]
    grid = np.stack([grid, -2 * grid], axis=2)
    grid += (np.arange(BINS) % BINS_Y)[:, None, None] * 1e-3
    targets = np.einsum("nmt,nm->nt", np.tensordot(weights, grid, 1), basis)
    (found,) = solve_grids(rows, [(targets, degrees, ACCURACY)])
    np.testing.assert_allclose(found, grid, atol=1e-3)


def test_fits_of_different_degrees_to_the_same_rays_are_independent():
    """Together they have the sums of the highest degrees, and each the solution that it has alone."""
    header = HEADERS["production"]
    states, qop = _states(3000), _qop(3000)
    rows, _ = _rows(header, states, qop)
    fits = [
        (np.random.default_rng(n).normal(size=(3000, n)), degrees, ACCURACY)
        for n, degrees in ((2, (2, 1, 1)), (1, (1, 2, 1)))
    ]
    for fit, found in zip(fits, solve_grids(rows, fits), strict=True):
        (alone,) = solve_grids(rows, [fit])
        np.testing.assert_allclose(found, alone, atol=1e-4 * np.abs(alone).max())


@every_form
@pytest.mark.parametrize(("plane", "own"), [("x", 0), ("y", 1)])
def test_targets_are_what_straight_lines_miss(name, plane, own):
    header, start, qop = HEADERS[name], _states(50), _qop(50)
    f = header["p_min"] * qop
    end = start + (7826 - 2665) * np.column_stack([start[:, 2:], np.zeros((50, 2))])
    np.testing.assert_allclose(_targets(plane, Rays(start, end, qop), header, f), 0, atol=1e-6)
    # The position moves by 3 mm and the slope stays; a move in the other plane has no effect.
    end[:, own] += 3
    np.testing.assert_allclose(_targets(plane, Rays(start, end, qop), header, f)[:, 0], 3 / f)
    end[:, 1 - own] += 1e3
    np.testing.assert_allclose(_targets(plane, Rays(start, end, qop), header, f)[:, 0], 3 / f)


def test_a_change_of_slope_is_added_to_the_table(monkeypatch):
    """The change falls as 1/p everywhere, so one number replaces the solution, which saves time."""
    states, qop = _states(300), _qop(300)

    def one_number(rows, fits):
        ((targets, degrees, _),) = fits
        solution = np.zeros((BINS, sum(degrees), 1))
        solution[:, 0] = targets.mean()
        return [solution]

    monkeypatch.setattr("parkf.training.magnet_table.train.solve_grids", one_number)
    random = np.random.default_rng(9)
    coefficients = random.normal(0, 0.01, size=TABLE_SHAPE).astype(np.float32)
    table = MagnetTable(HEADERS["production"].numbers.astype(np.float32), coefficients)
    up = np.ones(300)
    before = table.extrapolate(states, qop, up)
    changed = fit_slope_change(table, Rays(states, before, qop), 4.0 * qop).extrapolate(states, qop, up)
    inside = inside_grid(table.header, states)
    expected = before + np.outer(4.0 * qop, [0, 0, 1, 0])
    np.testing.assert_allclose(changed[inside], expected[inside], atol=1e-6)


@pytest.fixture(scope="module")
def dipole() -> FieldMap:
    """A smooth dipole in y, strong between 3 and 7 m, as large as the magnet."""
    x, y, z = np.arange(-4000, 4001, 400.0), np.arange(-3200, 3201, 400.0), np.arange(-600, 9601, 200.0)
    strength = -1.0 * np.exp(-0.5 * ((z - 5000) / 1400) ** 2)
    values = np.zeros((len(x), len(y), len(z), 3), dtype=np.float32)
    values[..., 1] = strength * (1 + (y[:, None] / 8000) ** 2)
    return FieldMap(np.array([x[0], y[0], z[0]]), np.array([400.0, 400.0, 200.0]), values)


def _magnet(field, threads=1):
    return Magnet(field, 2665.0, 7826.0, BEAM, threads)


@pytest.mark.slow
def test_training_follows_the_field(dipole, tmp_path, monkeypatch):
    # So few rays deserve no better accuracy than that of the first of two fits.
    monkeypatch.setattr("parkf.training.magnet_table.train.ACCURACY", ROUGH_ACCURACY)
    monkeypatch.setattr("parkf.training.magnet_table.train.TEST_RAYS", 60_000)
    # 20,000 rays are few, but the bend itself is 2.8e6 mm MeV / p, 400 mm at 7 GeV.
    table, figures = train_table(_magnet(dipole, 2), forms="improved", rays=20_000, seed=3)
    bins = {(b["p_min"], b["component"]): b for b in figures["fiducial"]}
    assert bins[5.0, "x"]["q68"] < 0.1
    assert bins[20.0, "tx"]["q68"] < 2e-5
    assert all(b["n"] > 20 for region in ("fiducial", "full") for b in figures[region])
    table.save(tmp_path / "table.npz")
    loaded = load_table(tmp_path / "table.npz")
    assert loaded.coefficients.tobytes() == table.coefficients.tobytes()
    assert loaded.header.tobytes() == table.header.tobytes()


def test_rays_do_not_depend_on_cores(dipole):
    one, two = (training_rays(_magnet(dipole, t), BENDS, count=512, seed=1) for t in (1, 2))
    assert one.start.tobytes() == two.start.tobytes()
    assert one.end.tobytes() == two.end.tobytes()


def test_rays_carried_back_begin_where_they_began(dipole):
    rays = independent_rays(_magnet(dipole), count=100, seed=1)
    assert rays.start.shape == rays.end.shape == (len(rays), 4)
    ends, z = np.column_stack([rays.end, rays.qop]), np.full(len(rays), 7826.0)
    back = propagate(dipole, +1, ends, z, (2665.0, 0.0, 0.0), tolerance=1e-5)
    np.testing.assert_allclose(back.states[:, :2], rays.start[:, :2], atol=0.01)
    np.testing.assert_allclose(back.states[:, 2:4], rays.start[:, 2:], atol=1e-5)


def test_rays_are_bent_and_scattered(dipole):
    magnet = _magnet(dipole)
    bends = magnet.bends(1)
    header = make_header(FORMS["production"].table, 2665.0, 7826.0, bends)
    for rays in (
        independent_rays(magnet, count=5000, seed=1),
        training_rays(magnet, bends, count=8192, seed=1),
    ):
        kick = (rays.end[:, 2] - rays.start[:, 2]) / rays.qop
        # ∫By dz of the toy dipole, 3.3 T·m, is a kick of about 1 GeV; MagUp bends a positive charge to −x.
        assert -1400 < np.median(kick) < -700
        u_x, _, _ = deviations(header, rays.start, rays.qop)
        # Below 3 GeV the kicks spread the slopes as scattering does; above it, the vertices spread them more.
        central = (np.abs(rays.qop) > 1 / 3000) & (np.abs(rays.start[:, :2]).max(axis=1) < 400)
        spread = np.quantile(np.abs(0.005 * u_x / rays.qop)[central], 0.68)
        assert spread == pytest.approx(6.1, rel=0.15)


def test_rays_that_the_table_is_tested_with_are_distributed_as_tracks():
    """Test rays are uniform in azimuth, whichever kind of training rays the third number stands for."""
    place = np.column_stack([np.full(9, 0.5), np.linspace(0, 1, 9), np.zeros(9)])
    slopes = {purpose: np.hypot(*_slopes(place, purpose).T) for purpose in ("test", "training")}
    # The pseudorapidity is half way between 2 and 5.
    assert slopes["test"] == pytest.approx(1 / np.sinh(3.5))
    assert np.ptp(slopes["training"]) > 0.3


def test_training_rays_fill_the_grid(dipole):
    magnet = _magnet(dipole)
    rays = training_rays(magnet, magnet.bends(1), count=1 << 16, seed=1)
    for header in HEADERS.values():
        _, bins, offsets = stencil(header, rays.start[inside_grid(header.numbers, rays.start)])
        assert (np.bincount(bins[:, 0], minlength=BINS).reshape(BINS_X, BINS_Y)[1:-1, 1:-1] > 0).all()
        # This is the last row of bins, which has the same rays as the row before it.
        assert offsets.max() > 1.4


def test_training_and_test_rays_differ(dipole):
    magnet = _magnet(dipole)
    training = training_rays(magnet, BENDS, count=256, seed=1)
    assert not np.isin(training.qop, independent_rays(magnet, count=200, seed=1).qop).any()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no table", "not an archive of arrays"),
        ({"header": np.zeros(19, np.float32)}, "without coefficients"),
        (
            {"header": np.zeros(18, np.float32), "coefficients": np.zeros((60, 50, 80), np.float32)},
            "header has shape",
        ),
        (
            {"header": np.zeros(19, np.float32), "coefficients": np.full((60, 50, 80), np.nan, np.float32)},
            "expected .* of finite float32",
        ),
        (
            {"header": np.zeros(19, np.float32), "coefficients": np.zeros((60, 50, 80), np.float32)},
            "of no known forms",
        ),
    ],
)
def test_bad_table_is_refused(tmp_path, content, message):
    path = tmp_path / "table.npz"
    path.write_bytes(content) if isinstance(content, bytes) else np.savez(path, **content)
    with pytest.raises(ParkfError, match=message):
        load_table(path)
