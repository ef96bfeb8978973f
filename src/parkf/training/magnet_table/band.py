"""Solution of the table's normal equations: conjugate gradients, preconditioned by strips of the grid.

A bin couples at most to the next two rows and columns of bins. A factor of the whole matrix, whose band is as
wide as two columns, would take more multiplications than all the rest of the training. A strip of some rows
has a narrow band and is factorised quickly. The preconditioner adds the solutions of strips that overlap
(additive Schwarz method, Dryja and Widlund 1987). Conjugate gradients (Hestenes and Stiefel 1952) then need
about ten steps. Factors in float32 are good enough for this, and take half the time of those in float64.
"""

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs

from parkf.io.errors import ParkfError
from parkf.training.magnet_table.form import BINS_X, BINS_Y, F64

BINS = BINS_X * BINS_Y
# Possible distances, in columns and rows, of two bins of the same six-point formula, and in bin numbers.
_APART = [(0, 0), (0, 1), (0, 2), *((1, row) for row in range(-2, 3)), *((2, row) for row in range(-1, 2))]
DISTANCES: tuple[int, ...] = tuple(column * BINS_Y + row for column, row in _APART)
# Rows of bins in a strip, and how many of them are also in the strips above and below.
HEIGHT, OVERLAP = 14, 4
# The residual of a solution, as a fraction of the right-hand side, and the largest number of steps to it. No
# quantile of the table's misfit differs by more than 0.3 % (68 %) or 0.9 % (99 %) from that with 1e-7. With
# 1e-5, the 99 % quantiles grow by up to 2.7 %.
ACCURACY = 1e-6
STEPS = 200


def solve(matrix: F64, right: F64, accuracy: float = ACCURACY) -> F64:
    """Solve for (BINS, m, t) right-hand sides.

    `matrix` (BINS, 11, m, m) is symmetric, with m unknowns in each bin. Block [b, d], itself symmetric,
    couples bin b to the one at the distance DISTANCES[d]; it is zero where there is no such bin. A ParkfError
    is raised when the matrix is not positive definite.
    """
    for precision in (np.float32, np.float64):
        try:
            found = _conjugate_gradients(matrix, right, _Strips(matrix, precision), accuracy)
        except np.linalg.LinAlgError:
            # The rounding of float32 may hide that the matrix is positive definite.
            continue
        if found is not None:
            return found
    raise ParkfError(
        "magnet table: the rays do not determine its coefficients: the normal equations are not positive "
        "definite; train it with more rays"
    )


def _conjugate_gradients(matrix: F64, right: F64, strips: "_Strips", accuracy: float) -> F64 | None:
    """Return the solution for (BINS, m, t) right-hand sides; None where the steps do not lead to it."""

    def dot(a: F64, b: F64) -> F64:
        return np.asarray(np.sum(a * b, axis=(0, 1)))

    found, residual = np.zeros_like(right), right.copy()
    wanted = accuracy**2 * dot(right, right)
    direction, length = np.zeros_like(right), np.ones(right.shape[2])
    for _ in range(STEPS):
        if np.all(dot(residual, residual) <= wanted):
            return found
        solved = strips.solve(residual)
        # A right-hand side that is solved exactly has no direction any more.
        before, length = length, dot(residual, solved)
        direction = solved + _quotient(length, before) * direction
        image = product(matrix, direction)
        step = _quotient(length, dot(direction, image))
        found += step * direction
        residual -= step * image
    return None


def _quotient(a: F64, b: F64) -> F64:
    return np.divide(a, b, out=np.zeros_like(a), where=b != 0)


def product(matrix: F64, values: F64) -> F64:
    """Multiply the matrix of :func:`solve` by (BINS, m, t) values."""
    result, count = matrix[:, 0] @ values, values.shape[2]
    for d, distance in enumerate(DISTANCES[1:], start=1):
        # A block multiplies the values of both of its bins.
        both = matrix[:-distance, d] @ np.concatenate([values[distance:], values[:-distance]], axis=2)
        result[:-distance] += both[:, :, :count]
        result[distance:] += both[:, :, count:]
    return np.asarray(result)


class _Strips:
    """Cholesky factors of the matrix of :func:`solve` in strips of the grid, in float32 or float64.

    A numpy.linalg.LinAlgError is raised when the matrix is not positive definite.
    """

    def __init__(self, matrix: F64, precision: type[np.floating]) -> None:
        self._precision = precision
        self._factorise, self._solve_factor = get_lapack_funcs(("pbtrf", "pbtrs"), dtype=precision)
        firsts = range(0, BINS_Y - OVERLAP, HEIGHT - OVERLAP)
        self._rows = [slice(first, min(first + HEIGHT, BINS_Y)) for first in firsts]
        blocks = matrix.reshape(BINS_X, BINS_Y, *matrix.shape[1:])
        self._factors = [self._factor(blocks[:, rows]) for rows in self._rows]

    def _factor(self, blocks: F64) -> NDArray[np.floating]:
        """Factorise the matrix of a strip, (columns, rows, 11, m, m), in which rows run fastest."""
        columns, rows, _, m, _ = blocks.shape
        # Column (b, j) of the band begins with its diagonal element, and element (b + apart, i) follows after
        # apart·m + i - j others.
        apart = 2 * rows + 2
        band = np.zeros((columns, rows, m, apart * m), self._precision)
        bin_, column, number = band.strides[1:]
        strides = (band.strides[0], bin_, m * number, column - number, number)
        pairs = as_strided(band, (columns, rows, apart, m, m), strides)
        for d, (right, up) in enumerate(_APART):
            low, high = max(0, -up), rows - max(0, up)
            block = blocks[: columns - right, low:high, d]
            # The band has the lower half of a symmetric block on the diagonal. What would be the other half
            # are elements beyond the reach of a bin, which stay zero.
            pairs[: columns - right, low:high, right * rows + up] = np.triu(block) if d == 0 else block
        factor, failed = self._factorise(band.reshape(-1, apart * m).T, lower=1, overwrite_ab=1)
        if failed:
            raise np.linalg.LinAlgError("not positive definite")
        return np.asarray(factor)

    def solve(self, right: F64) -> F64:
        """Return the sum of the strips' solutions for (BINS, m, t) right-hand sides."""
        grid = right.reshape(BINS_X, BINS_Y, *right.shape[1:])
        result = np.zeros_like(grid)
        for rows, factor in zip(self._rows, self._factors, strict=True):
            part = grid[:, rows]
            values = part.reshape(-1, right.shape[2]).astype(self._precision)
            result[:, rows] += self._solve_factor(factor, values, lower=1)[0].reshape(part.shape)
        return result.reshape(right.shape)
