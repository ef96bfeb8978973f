"""The magnet table as a linear problem: normal equations over the grid, solved by banded Cholesky.

Two components share their matrix (x with tx, y with ty), so there are two systems. Unknowns are ordered bin
by bin, and a six-point formula spans at most two columns of bins: the matrix is banded.
"""

from collections.abc import Sequence

import numpy as np
import scipy.linalg

from parkf.training.magnet_table.form import BINS_X, BINS_Y, F64, I64

BINS = BINS_X * BINS_Y
BAND = 2 * BINS_Y + 1  # bins apart at most within one six-point formula
# What is believed before the rays speak, in units of what one ray says: coefficients are finite, and their
# second differences between neighbouring bins small, the more so the higher the order in f, and for the terms
# in u. Where rays are few, at border and corners, it keeps high orders from following the kinks of the field
# map: tails of the lowest momenta are twice as wide without it.
RIDGE = 1e-7
SMOOTHING = 1e-4
SMOOTHING_ORDER = 4
SMOOTHING_OF_U = 10.0


def chebyshev_basis(f: F64, u_x: F64, u_y: F64, degrees: Sequence[int]) -> F64:
    """Columns T_{n−1}(f), u_x·T_{n−1}(f), u_y·T_{n−1}(f): the form divided by f.

    Chebyshev polynomials keep the normal equations well conditioned where monomials do not.

    Returns
    -------
    (n, sum(degrees)) float64
    """
    polynomials = np.polynomial.chebyshev.chebvander(f, max(degrees) - 1)
    return np.concatenate(
        [
            polynomials[:, : degrees[0]],
            u_x[:, None] * polynomials[:, : degrees[1]],
            u_y[:, None] * polynomials[:, : degrees[2]],
        ],
        axis=1,
    )


def monomials(coefficients: F64) -> F64:
    """Turn Σ c_n·f·T_{n−1}(f) into Σ c'_n·fⁿ, along the last axis."""
    degree = coefficients.shape[-1]
    transform = np.zeros((degree, degree))
    for n in range(degree):
        transform[n, : n + 1] = np.polynomial.chebyshev.cheb2poly(np.eye(degree)[n])[: n + 1]
    return coefficients @ transform


def stiffness(degrees: Sequence[int]) -> F64:
    """How much smoother than the mean bend each coefficient of the basis is, (sum(degrees),)."""
    factors = (1.0, SMOOTHING_OF_U, SMOOTHING_OF_U)
    orders = (np.arange(1.0, degree + 1) for degree in degrees)
    return np.concatenate([f * n**SMOOTHING_ORDER for f, n in zip(factors, orders, strict=True)])


def solve_grid(
    cell: I64, bins: I64, weights: F64, basis: F64, targets: F64, row_weights: F64, stiff: F64
) -> F64:
    """Least squares of targets ≈ Σ_bins weight · (basis · coefficients of the bin).

    Parameters
    ----------
    cell : (n,) int64
        Rows of one cell share their six bins.
    bins, weights : (n, 6)
        Six-point interpolation of each row.
    basis : (n, m) float64
        Functions that the coefficients of a bin multiply.
    targets : (n, t) float64
        Right-hand sides.
    row_weights : (n,) float64
        Weight of a row's squared residual.
    stiff : (m,) float64
        Of :func:`stiffness`.

    Returns
    -------
    (BINS, m, t) float64
        Coefficients; bins that no ray reaches are carried on smoothly from their neighbours.
    """
    m, t = basis.shape[1], targets.shape[1]
    band = _Band(m)
    right = np.zeros((BINS, m, t))
    order = np.argsort(cell, kind="stable")
    starts = np.flatnonzero(np.diff(cell[order], prepend=-1))
    for rows in np.split(order, starts[1:]):
        design = (weights[rows, :, None] * basis[rows, None, :]).reshape(len(rows), 6 * m)
        weighted = design * row_weights[rows, None]
        band.add(bins[rows[0]], weighted.T @ design)
        right[bins[rows[0]]] += (weighted.T @ targets[rows]).reshape(6, m, t)
    one_ray = band.mean_diagonal() * BINS / len(basis)
    band.add_diagonal(RIDGE * one_ray)
    _smooth(band, SMOOTHING * one_ray * stiff)
    return band.solve(right.reshape(BINS * m, t)).reshape(BINS, m, t)


def _smooth(band: "_Band", strength: F64) -> None:
    """Penalise second differences between neighbouring bins, coefficient by coefficient, (m,)."""
    grid = np.arange(BINS).reshape(BINS_X, BINS_Y)
    difference = np.kron(np.outer([1.0, -2.0, 1.0], [1.0, -2.0, 1.0]), np.diag(strength))
    triples = [grid[:-2], grid[1:-1], grid[2:]], [grid[:, :-2], grid[:, 1:-1], grid[:, 2:]]
    for a, b, c in triples:
        for triple in np.stack([a.ravel(), b.ravel(), c.ravel()], axis=1):
            band.add(triple, difference)


class _Band:
    """A symmetric banded matrix of BINS × m unknowns in LAPACK's lower storage."""

    def __init__(self, m: int) -> None:
        self.m = m
        self._width = (BAND + 1) * m - 1
        self._stored = np.zeros((self._width + 1, BINS * m), order="F")
        # element (i, j), i ≥ j, lies at i − j + j·(width + 1) = i + j·width
        step = self._stored.itemsize
        self._full = np.lib.stride_tricks.as_strided(
            self._stored, (BINS * m, BINS * m), (step, self._width * step), writeable=True
        )
        self._lower = np.tril(np.ones((m, m)))

    def add(self, bins: I64, block: F64) -> None:
        """Add a symmetric (len(bins)·m)² block that couples these bins."""
        m = self.m
        for a, row in enumerate(bins):
            for b, column in enumerate(bins):
                if row < column:
                    continue  # the upper triangle is not stored
                piece = block[a * m : (a + 1) * m, b * m : (b + 1) * m]
                target = self._full[row * m : (row + 1) * m, column * m : (column + 1) * m]
                target += piece * self._lower if row == column else piece

    def add_diagonal(self, value: float) -> None:
        self._stored[0] += value

    def mean_diagonal(self) -> float:
        return float(self._stored[0].mean())

    def solve(self, right: F64) -> F64:
        """Solve in place; the matrix is destroyed."""
        factor = scipy.linalg.cholesky_banded(self._stored, overwrite_ab=True, lower=True, check_finite=False)
        return scipy.linalg.cho_solve_banded((factor, True), right, check_finite=False)
