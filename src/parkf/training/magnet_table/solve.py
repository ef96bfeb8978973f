"""The magnet table as a linear problem: normal equations over the grid, and their regularisation.

Position and slope of a plane have the same degrees, and therefore the same matrix.

A row of the design matrix is (weights of six bins) ⊗ (1, u_x, u_y) ⊗ T_0 … T_{n−1}(f). The products of a row
with itself factorise, too. The products of two weights are polynomials of fourth order in the offsets (a, b)
from the bin's centre, and 2·T_n·T_m = T_{n+m} + T_{|n−m|}. So only a few sums over the rays of a cell are
needed: the products of fifteen monomials of the offsets with monomials of u times Chebyshev polynomials. This
takes a fifteenth of the multiplications and of the memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from parkf.model.steps import magnet
from parkf.training.magnet_table.band import BINS, DISTANCES, solve
from parkf.training.magnet_table.form import BINS_X, BINS_Y, F64, I64

# Regularisation, in units of the weight of one ray. It keeps the coefficients finite and their second
# differences between neighbouring bins small, more strongly at higher orders in f and for the terms in u.
# Where there are few rays, at the border and in the corners, it keeps high orders from following the kinks of
# the field map. Without it, tails at the lowest momenta are twice as wide.
RIDGE = 1e-7
SMOOTHING = 1e-4
SMOOTHING_ORDER = 4
SMOOTHING_OF_U = 10.0
_PLACE = np.full(DISTANCES[-1] + 1, -1)
_PLACE[list(DISTANCES)] = np.arange(len(DISTANCES))
# The factors of the polynomials in f are 1, u_x and u_y. These are the powers of (u_x, u_y) in the factors,
# and in the products of two factors.
_FACTORS = ((0, 0), (1, 0), (0, 1))
_PRODUCTS = tuple(sorted({(i + k, j + m) for i, j in _FACTORS for k, m in _FACTORS}))
# Number of cells whose columns of functions are in memory at a time.
_CELLS_AT_ONCE = 50


@dataclass(frozen=True)
class Rows:
    """Rays as rows of the linear problem, cell by cell."""

    offsets: F64  # distance from the centre of the nearest bin, in bins, (n, 2)
    bins: I64  # of each cell's six-point formula, (cells, 6)
    starts: I64  # where the rays of each cell begin, and where the last ones end, (cells + 1,)
    u: F64  # u_x and u_y, (n, 2)
    f: F64  # h·p_min, (n,)
    weight: F64  # of the squared residual, (n,)


@dataclass(frozen=True)
class Normal:
    """Normal equations, bin by bin.

    A symmetric block couples each bin to a later one at a distance in :data:`DISTANCES`. `pairs` holds the
    sums that the blocks are made of.
    """

    degrees: tuple[int, ...]  # in f, of the terms with 1, u_x and u_y
    pairs: F64  # (BINS, 11, sums)
    right: F64  # right-hand sides, (BINS, m, targets)

    def matrix(self, kept: NDArray[np.intp]) -> F64:
        """Return the blocks (BINS, 11, m, m) that :func:`parkf.training.magnet_table.band.solve` takes.

        `kept` (m,) are the numbers of the terms.
        """
        total, difference = (places[np.ix_(kept, kept)] for places in _chebyshev_products(self.degrees))
        # Indexing by arrays would change the order in memory.
        blocks = np.take(self.pairs, total, axis=-1)
        blocks += np.take(self.pairs, difference, axis=-1)
        blocks *= 0.5
        return blocks


def accumulate(rows: Rows, targets: F64, degrees: Sequence[int]) -> Normal:
    """Sum the normal equations of targets ≈ Σ_bins weight · (basis · coefficients of the bin).

    Targets are (n, t) for n rays. `degrees` are the degrees in f of the terms with 1, u_x and u_y.
    """
    lengths = _product_degrees(degrees)
    width, m = sum(lengths.values()), sum(degrees)
    pairs = np.zeros((BINS * len(DISTANCES), width))
    right = np.zeros((BINS, m * targets.shape[1]))
    for first in range(0, len(rows.bins), _CELLS_AT_ONCE):
        bins = rows.bins[first : first + _CELLS_AT_ONCE]
        starts = rows.starts[first : first + len(bins) + 1]
        rays = slice(int(starts[0]), int(starts[-1]))
        # Functions are rows, and rays are columns.
        u, offsets, weight = rows.u[rays].T, rows.offsets[rays].T, rows.weight[rays]
        powers = np.polynomial.chebyshev.chebvander(rows.f[rays], max(lengths.values()) - 1).T
        products = np.concatenate([powers[:n] * _monomial(u, e) for e, n in lengths.items()])
        basis = np.concatenate([powers[:n] * _monomial(u, e) for e, n in zip(_FACTORS, degrees, strict=True)])
        aims = (basis[:, None] * targets[rays].T).reshape(-1, len(weight))
        square, once = (
            np.stack([weight * _monomial(offsets, e) for e in exponents])
            for exponents in (_QUARTIC, _QUADRATIC)
        )
        squares = np.empty((len(bins), len(_QUARTIC), width))
        singles = np.empty((len(bins), len(_QUADRATIC), right.shape[1]))
        for i, (begin, end) in enumerate(pairwise(starts - rays.start)):
            squares[i] = square[:, begin:end] @ products[:, begin:end].T
            singles[i] = once[:, begin:end] @ aims[:, begin:end].T
        for n, six in enumerate(np.moveaxis(_WEIGHTS @ singles, 1, 0)):
            np.add.at(right, bins[:, n], six)
        for (p, q), sums in zip(_PAIRS, np.moveaxis(_WEIGHT_PRODUCTS @ squares, 1, 0), strict=True):
            lower, upper = np.minimum(bins[:, p], bins[:, q]), np.maximum(bins[:, p], bins[:, q])
            np.add.at(pairs, lower * len(DISTANCES) + _PLACE[upper - lower], sums)
    by_bin = right.reshape(BINS, m, targets.shape[1])
    return Normal(tuple(degrees), pairs.reshape(BINS, len(DISTANCES), width), by_bin)


def _monomial(values: F64, exponents: tuple[int, int]) -> F64:
    return np.asarray(values[0] ** exponents[0] * values[1] ** exponents[1])


def _product_degrees(degrees: Sequence[int]) -> dict[tuple[int, int], int]:
    """Count the Chebyshev polynomials that each product of two factors needs."""
    lengths = dict.fromkeys(_PRODUCTS, 0)
    for (i, j), n in zip(_FACTORS, degrees, strict=True):
        for (k, m), other in zip(_FACTORS, degrees, strict=True):
            lengths[i + k, j + m] = max(lengths[i + k, j + m], n + other - 1)
    return lengths


@cache
def _chebyshev_products(degrees: tuple[int, ...]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return where T_{n+m} and T_{|n−m|} of each element of a block lie among the sums, (m, m) each."""
    lengths = _product_degrees(degrees)
    start = dict(zip(lengths, np.cumsum([0, *lengths.values()]), strict=False))
    terms = [(factor, n) for factor, degree in zip(_FACTORS, degrees, strict=True) for n in range(degree)]
    starts = np.array([[start[a[0] + b[0], a[1] + b[1]] for b, _ in terms] for a, _ in terms])
    orders = np.array([n for _, n in terms])
    return starts + np.add.outer(orders, orders), starts + np.abs(np.subtract.outer(orders, orders))


def _coefficients(form: sp.Expr, exponents: Sequence[tuple[int, int]]) -> list[float]:
    polynomial = sp.Poly(form, magnet.a, magnet.b)
    return [float(polynomial.coeff_monomial(magnet.a**i * magnet.b**j)) for i, j in exponents]


_QUADRATIC, _QUARTIC = ([(i, j) for i in range(order + 1) for j in range(order + 1 - i)] for order in (2, 4))
_SIX = list(magnet.WEIGHTS.values())
_PAIRS = [(p, q) for p in range(6) for q in range(p + 1)]
_WEIGHTS = np.array([_coefficients(weight, _QUADRATIC) for weight in _SIX])
_WEIGHT_PRODUCTS = np.array([_coefficients(sp.expand(_SIX[p] * _SIX[q]), _QUARTIC) for p, q in _PAIRS])


def monomials(coefficients: F64) -> F64:
    """Turn Σ c_n·f·T_{n−1}(f) into Σ c'_n·fⁿ, along the last axis.

    Chebyshev polynomials keep the normal equations well conditioned where monomials do not.
    """
    degree = coefficients.shape[-1]
    transform = np.zeros((degree, degree))
    for n in range(degree):
        transform[n, : n + 1] = np.polynomial.chebyshev.cheb2poly(np.eye(degree)[n])[: n + 1]
    return coefficients @ transform


def solve_grids(rows: Rows, fits: Sequence[tuple[F64, Sequence[int], float]]) -> list[F64]:
    """Do several fits to the same rays, each of targets with degrees and accuracy.

    A fit of targets ≈ Σ_bins weight · (T_{n−1}(f) and u·T_{n−1}(f)) · coefficients of the bin is one by least
    squares. Targets (n, t) of n rays are divided by f, and the degrees are those of the terms with 1, u_x and
    u_y. The accuracy is the residual of the normal equations, as a fraction of their right-hand side. Return
    coefficients (BINS, m, t) of each fit. Bins without rays are extrapolated smoothly from their neighbours.
    """
    targets, degrees, accuracies = zip(*fits, strict=True)
    highest = np.max(degrees, axis=0)
    normal = accumulate(rows, np.concatenate(targets, axis=1), highest.tolist())
    ends, columns = np.cumsum(highest), np.cumsum([some.shape[1] for some in targets])
    rights = np.split(normal.right, columns[:-1], axis=2)
    solutions = []
    for right, own, accuracy in zip(rights, degrees, accuracies, strict=True):
        kept = np.concatenate(
            [np.arange(n) + end - most for n, end, most in zip(own, ends, highest, strict=True)]
        )
        matrix = _smoothed(normal.matrix(kept), own, len(rows.f))
        solutions.append(solve(matrix, right[:, kept], accuracy))
    return solutions


def _smoothed(matrix: F64, degrees: Sequence[int], rays: int) -> F64:
    """Add the regularisation to the blocks of a number of rays, in place."""
    own = np.einsum("bii->bi", matrix[:, 0])  # a view of the diagonal
    one_ray = own.mean() * BINS / rays
    orders = np.concatenate([np.arange(1.0, degree + 1) for degree in degrees])
    factors = np.repeat((1.0, SMOOTHING_OF_U, SMOOTHING_OF_U), degrees)
    smooth = SMOOTHING * one_ray * (factors * orders**SMOOTHING_ORDER)
    own += RIDGE * one_ray
    np.einsum("bdii->bdi", matrix)[:] += _second_differences()[:, :, None] * smooth
    return matrix


def _second_differences() -> F64:
    """Return the matrix (BINS, 11) of the sum of squared second differences between neighbouring bins."""
    grid = np.arange(BINS).reshape(BINS_X, BINS_Y)
    result = np.zeros((BINS, len(DISTANCES)))
    weights = (1.0, -2.0, 1.0)
    for lines, step in ((grid, BINS_Y), (grid.T, 1)):
        triples = [lines[:-2].ravel(), lines[1:-1].ravel(), lines[2:].ravel()]
        for a in range(3):
            for b in range(a, 3):
                result[triples[a], DISTANCES.index((b - a) * step)] += weights[a] * weights[b]
    return result
