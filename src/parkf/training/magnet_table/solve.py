"""The magnet table as a linear problem: normal equations over the grid, and their regularisation.

Components with the same degrees have the same matrix: position and slope of a plane.
"""

from collections.abc import Sequence

import numpy as np

from parkf.training.magnet_table.band import Precision, solve
from parkf.training.magnet_table.form import BINS_X, BINS_Y, F64
from parkf.training.magnet_table.sums import BINS, DISTANCES, Rows, accumulate

# Regularisation, in units of the weight of one ray. It keeps the coefficients finite and their second
# differences between neighbouring bins small, more strongly at higher orders in f and for the terms in u.
# Where there are few rays, at the border and in the corners, it keeps high orders from following the kinks of
# the field map. Without it, tails at the lowest momenta are twice as wide.
RIDGE = 1e-7
SMOOTHING = 1e-4
SMOOTHING_ORDER = 4
SMOOTHING_OF_U = 10.0


def monomials(coefficients: F64) -> F64:
    """Turn Σ c_n·f·T_{n−1}(f) into Σ c'_n·fⁿ, along the last axis.

    Chebyshev polynomials keep the normal equations well conditioned where monomials do not.
    """
    degree = coefficients.shape[-1]
    transform = np.zeros((degree, degree))
    for n in range(degree):
        transform[n, : n + 1] = np.polynomial.chebyshev.cheb2poly(np.eye(degree)[n])[: n + 1]
    return coefficients @ transform


def stiffness(degrees: Sequence[int]) -> F64:
    """Strength of the smoothing of each coefficient, relative to the mean bend's, (sum(degrees),)."""
    factors = (1.0, SMOOTHING_OF_U, SMOOTHING_OF_U)
    orders = (np.arange(1.0, degree + 1) for degree in degrees)
    return np.concatenate([f * n**SMOOTHING_ORDER for f, n in zip(factors, orders, strict=True)])


def solve_grid(
    rows: Rows, targets: F64, degrees: Sequence[int], threads: int, precision: Precision = np.float64
) -> F64:
    """Least squares of targets ≈ Σ_bins weight · (T_{n−1}(f) and u·T_{n−1}(f)) · coefficients of the bin.

    Targets (n, t) of n rays are divided by f; degrees are those of the terms with 1, u_x and u_y. The
    precision is that of the solution; sums are float64. Return coefficients (BINS, m, t): bins without rays
    are extrapolated smoothly from their neighbours. The result does not depend on `threads`. A ParkfError is
    raised when the rays are too few for a solution.
    """
    normal = accumulate(rows, targets, degrees)
    m = sum(degrees)
    one_ray = normal.mean_diagonal() * BINS / len(targets)
    ridge = RIDGE * one_ray * np.eye(m)
    smooth = np.diag(SMOOTHING * one_ray * stiffness(degrees))
    differences = _second_differences()

    def block(first: int, distance: int) -> F64:
        found = normal.block(first, distance)
        if distance == 0:
            found += ridge
        if differences[first, distance]:
            found += differences[first, distance] * smooth
        return found

    return solve(block, normal.right, threads, precision)


def _second_differences() -> F64:
    """Sum of squared second differences between neighbouring bins, as a matrix, (BINS, 11)."""
    grid = np.arange(BINS).reshape(BINS_X, BINS_Y)
    result = np.zeros((BINS, len(DISTANCES)))
    weights = (1.0, -2.0, 1.0)
    for lines, step in ((grid, BINS_Y), (grid.T, 1)):
        triples = [lines[:-2].ravel(), lines[1:-1].ravel(), lines[2:].ravel()]
        for a in range(3):
            for b in range(a, 3):
                result[triples[a], DISTANCES.index((b - a) * step)] += weights[a] * weights[b]
    return result
