"""Solution of the table's normal equations: conjugate gradients, with a Cholesky factor in float32.

A bin couples at most to the next two columns of bins, so the matrix is banded. It is factorised from both
ends of the grid to its middle. The two halves of the grid are coupled only through two columns in the middle,
which are eliminated last. Two cores can therefore share the work; one core computes the same sums in the same
order. LAPACK's banded routine works in strips of 32. Blocks of ten bins let matrix products run at more than
twice its speed.

A factor in float32 takes half the time and the memory of one in float64. It is not accurate enough by itself:
where rays are few, coefficients would be wrong in the third digit. Conjugate gradients in float64 with this
factor as preconditioner (Hestenes and Stiefel 1952) need some six steps for ten digits of the right side.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_blas_funcs, get_lapack_funcs

from parkf.io.errors import ParkfError
from parkf.training.magnet_table.form import BINS_X, BINS_Y, F64

BINS = BINS_X * BINS_Y
# Possible distances, in bin numbers, of two bins of the same six-point formula.
DISTANCES: tuple[int, ...] = (0, 1, 2, *range(BINS_Y - 2, BINS_Y + 3), *range(2 * BINS_Y - 1, 2 * BINS_Y + 2))
# Numbers of bins in a block, in the middle, and in a half.
BLOCK = 10
MIDDLE = 2 * BINS_Y
HALF = (BINS - MIDDLE) // 2
REACH = DISTANCES[-1]
assert HALF % BLOCK == 0 == MIDDLE % BLOCK, "halves and middle are whole blocks"
# The residual of a solution, as a fraction of the right-hand side, and the largest number of steps to it.
ACCURACY = 1e-10
STEPS = 50

Array = NDArray[np.floating]


def solve(matrix: F64, right: F64, threads: int) -> F64:
    """Solve for (BINS, m, t) right-hand sides.

    `matrix` (BINS, 11, m, m) is symmetric, with m unknowns in each bin. Block [b, d], itself symmetric,
    couples bin b to the one at the distance DISTANCES[d]; it is zero where there is no such bin. The result
    does not depend on `threads`. A ParkfError is raised when the matrix is not positive definite.
    """
    for precision in (np.float32, np.float64):
        try:
            with ThreadPoolExecutor(2 if threads > 1 else 1) as cores:
                found = _conjugate_gradients(matrix, right, _Factor(matrix, precision, cores))
        except np.linalg.LinAlgError:
            # The rounding of float32 may hide that the matrix is positive definite.
            continue
        if found is not None:
            return found
    raise ParkfError(
        "magnet table: the rays do not determine its coefficients: the normal equations are not positive "
        "definite; train it with more rays"
    )


def _conjugate_gradients(matrix: F64, right: F64, factor: "_Factor") -> F64 | None:
    """Return the solution for (BINS, m, t) right-hand sides; None where the steps do not lead to it."""

    def dot(a: F64, b: F64) -> F64:
        return np.asarray(np.sum(a * b, axis=(0, 1)))

    found, residual = np.zeros_like(right), right.copy()
    wanted = ACCURACY**2 * dot(right, right)
    direction, length = np.zeros_like(right), np.ones(right.shape[2])
    for _ in range(STEPS):
        if np.all(dot(residual, residual) <= wanted):
            return found
        solved = factor.solve(residual)
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


class _Factor:
    """The Cholesky factor of the matrix of :func:`solve`, in float32 or float64.

    A numpy.linalg.LinAlgError is raised when the matrix is not positive definite.
    """

    def __init__(self, matrix: F64, precision: type[np.floating], cores: ThreadPoolExecutor) -> None:
        self._cores, self._precision, self._m = cores, precision, matrix.shape[-1]
        factorise, self._solve_factor = get_lapack_funcs(("potrf", "potrs"), dtype=precision)
        self._halves = list(cores.map(lambda end: _Half(matrix, precision, from_end=end), (False, True)))
        # Add the two Schur complements of the middle, one from each half. The second half counts its bins in
        # reverse.
        shape = (MIDDLE, self._m, MIDDLE, self._m)
        one, other = (half.middle() for half in self._halves)
        square = one + other.reshape(shape)[::-1, :, ::-1].reshape(one.shape)
        self._middle, failed = factorise(square, lower=1, overwrite_a=1)
        _check(failed)

    def solve(self, right: F64) -> F64:
        """Solve for (BINS, m, t) right-hand sides."""
        values = right.astype(self._precision)
        second = values[::-1].copy()
        # What is in the middle counts once.
        second[HALF:] = 0.0
        total = HALF + MIDDLE
        rights = [half.reshape(-1, right.shape[2]) for half in (values[:total].copy(), second[:total])]
        list(self._cores.map(lambda half, values: half.forward(values), self._halves, rights))
        rest, other = (values[HALF * self._m :] for values in rights)
        middle, _ = self._solve_factor(self._middle, rest + self._reversed(other), lower=1)
        rest[:], other[:] = middle, self._reversed(middle)
        list(self._cores.map(lambda half, values: half.back(values), self._halves, rights))
        first, second = (values.reshape(total, self._m, -1) for values in rights)
        return np.concatenate([first, second[:HALF][::-1]]).astype(np.float64)

    def _reversed(self, values: Array) -> Array:
        return np.asarray(values.reshape(-1, self._m, values.shape[-1])[::-1].reshape(values.shape))


def _check(failed: int) -> None:
    if failed:
        raise np.linalg.LinAlgError("not positive definite")


class _Half:
    """One half of the grid, and the middle. The unknowns of the half are eliminated.

    The half from the other end of the grid counts its bins in reverse, and leaves out the matrix of the
    middle, which counts once.
    """

    def __init__(self, matrix: F64, precision: type[np.floating], *, from_end: bool) -> None:
        self._m = matrix.shape[-1]
        self._q = BLOCK * self._m
        (self._factorise,) = get_lapack_funcs(("potrf",), dtype=precision)
        (self._substitute,) = get_blas_funcs(("trsm",), dtype=precision)
        # For each block of bins the columns of the matrix, later of its factor, from the diagonal on.
        self._columns: list[Array] = []
        for begin in range(0, HALF + MIDDLE, BLOCK):
            columns = self._assembled(matrix, begin, precision, from_end=from_end)
            i = len(self._columns)
            for before in range(max(0, i - REACH // BLOCK - 1), min(i, HALF // BLOCK)):
                rest = self._columns[before][(i - before) * self._q :]
                columns[: len(rest), : min(self._q, len(rest))] -= rest @ rest[: self._q].T
            if begin < HALF:
                self._eliminate(columns)
            self._columns.append(columns)

    def _assembled(self, matrix: F64, begin: int, precision: type[np.floating], *, from_end: bool) -> Array:
        """Return the columns of a block of bins, from the diagonal to the last row that is not zero."""
        m, total = self._m, HALF + MIDDLE
        rows = min(BLOCK + REACH, total - begin)
        columns = np.zeros((rows, m, BLOCK, m), precision)
        for j in range(0 if from_end and begin >= HALF else BLOCK):
            for d, distance in enumerate(DISTANCES):
                if j + distance < rows:
                    first = BINS - 1 - begin - j - distance if from_end else begin + j
                    columns[j + distance, :, j] = matrix[first, d]
        return columns.reshape(rows * m, self._q)

    def _eliminate(self, columns: Array) -> None:
        """Turn the columns of a block into those of the factor. BLAS has columns where NumPy has rows."""
        own, below = columns[: self._q].T, columns[self._q :].T
        factor, failed = self._factorise(own, lower=0, overwrite_a=1, clean=0)
        _check(failed)
        own[:] = factor
        below[:] = self._substitute(1.0, factor, below, trans_a=1, overwrite_b=1)

    def middle(self) -> Array:
        """Return the matrix of the middle after the elimination, (MIDDLE·m, MIDDLE·m)."""
        q = self._q
        square = np.zeros((MIDDLE * self._m, MIDDLE * self._m), self._columns[0].dtype)
        for place, columns in enumerate(self._columns[HALF // BLOCK :]):
            square[place * q :, place * q : (place + 1) * q] = columns
        lower = np.tril(square)
        return np.asarray(lower + np.tril(square, -1).T)

    def forward(self, values: Array) -> None:
        """Substitute forward, in place, the values ((HALF + MIDDLE)·m, t)."""
        q = self._q
        for i, columns in enumerate(self._columns[: HALF // BLOCK]):
            solved = self._substitute(1.0, columns[:q].T, values[i * q : (i + 1) * q], trans_a=1)
            values[i * q : (i + 1) * q] = solved
            values[(i + 1) * q : i * q + len(columns)] -= columns[q:] @ solved

    def back(self, values: Array) -> None:
        """Substitute back, in place, where the values of the middle are solved."""
        q = self._q
        for i in reversed(range(HALF // BLOCK)):
            columns, end = self._columns[i], (i + 1) * q
            rest = values[i * q : end] - columns[q:].T @ values[end : i * q + len(columns)]
            values[i * q : end] = self._substitute(1.0, columns[:q].T, rest)
