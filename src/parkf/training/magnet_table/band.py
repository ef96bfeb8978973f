"""Cholesky factorisation of the table's normal equations, from both ends of the grid to its middle.

A bin couples at most to the next two columns of bins, so the matrix is banded. The two halves of the grid are
coupled only through two columns in the middle, which are eliminated last. Two cores can therefore share the
work; one core computes the same sums in the same order. LAPACK's banded routine works in strips of 32. Blocks
of some ten bins let matrix products run at more than twice its speed.
"""

from collections.abc import Callable
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
BLOCK = 25
MIDDLE = 2 * BINS_Y
HALF = (BINS - MIDDLE) // 2
REACH = DISTANCES[-1]
assert HALF % BLOCK == 0 == MIDDLE % BLOCK, "halves and middle are whole blocks"

# The type of a symmetric matrix over the grid, with m unknowns in each bin: a function of a bin and of a
# position in DISTANCES. It returns the block (m, m), itself symmetric, that couples the two bins.
Blocks = Callable[[int, int], F64]
Precision = type[np.float64] | type[np.float32]
Array = NDArray[np.floating]


def solve(block: Blocks, right: F64, threads: int, precision: Precision = np.float64) -> F64:
    """Solve for (BINS, m, t) right-hand sides.

    In float32 the solution needs little more than half the time, and it is accurate enough to find the rays
    with large residuals. A ParkfError is raised when the matrix is not positive definite.
    """
    m, targets = right.shape[1:]
    right = right.astype(precision)
    factorise, solve_factor = get_lapack_funcs(("potrf", "potrs"), dtype=precision)

    def from_other_end(first: int, d: int) -> F64:
        return block(BINS - 1 - first - DISTANCES[d], d)

    with ThreadPoolExecutor(2 if threads > 1 else 1) as cores:
        halves = list(cores.map(_Half, (block, from_other_end), (right, right[::-1]), (True, False)))
        # Add the two Schur complements of the middle, one from each half. The second half counts its bins in
        # reverse.
        square = halves[0].middle() + halves[1].middle().reshape(MIDDLE, m, MIDDLE, m)[::-1, :, ::-1].reshape(
            MIDDLE * m, MIDDLE * m
        )
        rest = halves[0].right[HALF * m :] + _reversed(halves[1].right[HALF * m :], m)
        factor, failed = factorise(square, lower=1, overwrite_a=1)
        _check(failed)
        middle, _ = solve_factor(factor, rest, lower=1)
        ends = cores.map(lambda half, values: half.back(values), halves, (middle, _reversed(middle, m)))
        first, second = (end.reshape(-1, m, targets) for end in ends)
    return np.concatenate([first, second[:HALF][::-1]]).astype(np.float64)


def _reversed(values: Array, m: int) -> Array:
    return np.asarray(values.reshape(-1, m, values.shape[-1])[::-1].reshape(values.shape))


def _check(failed: int) -> None:
    if failed:
        raise ParkfError(
            "magnet table: the rays do not determine its coefficients: the normal equations are not positive "
            "definite; train it with more rays"
        )


class _Half:
    """One half of the grid, and the middle. The unknowns of the half are eliminated.

    `right` is (rows, t). Its eliminated rows are forward-substituted. Its precision is used for all arrays.
    """

    def __init__(self, block: Blocks, right: Array, with_middle: bool) -> None:
        self._m, self._q = right.shape[1], BLOCK * right.shape[1]
        self._type = right.dtype
        (self._factorise,) = get_lapack_funcs(("potrf",), dtype=self._type)
        (self._substitute,) = get_blas_funcs(("trsm",), dtype=self._type)
        self._own: list[Array] = []  # diagonal blocks, then their Cholesky factors
        self._below: list[Array] = []
        total = HALF + MIDDLE
        for begin in range(0, total, BLOCK):
            own, below = self._column(block, begin, total, empty=begin >= HALF and not with_middle)
            self._own.append(own)
            self._below.append(below)
        self.right = right[:total].reshape(total * self._m, -1).copy()
        if not with_middle:
            self.right[HALF * self._m :] = 0.0
        for i in range(HALF // BLOCK):
            self._eliminate(i)

    def _column(self, block: Blocks, begin: int, total: int, *, empty: bool) -> tuple[Array, Array]:
        """Diagonal block of some bins, and the blocks that couple them to all later bins."""
        m, q = self._m, self._q
        rows = min(BLOCK + REACH, total - begin)
        own = np.zeros((q, q), self._type, order="F")
        below = np.zeros((rows * m - q, q), self._type, order="F")
        for j in range(0 if empty else BLOCK):
            for d, distance in enumerate(DISTANCES):
                i = j + distance
                if i >= rows:
                    break
                target = own[i * m :] if i < BLOCK else below[i * m - q :]
                target[:m, j * m : (j + 1) * m] = block(begin + j, d)
        return own, below

    def _eliminate(self, i: int) -> None:
        q = self._q
        factor, failed = self._factorise(self._own[i], lower=1, overwrite_a=1, clean=0)
        _check(failed)
        below = self._substitute(1.0, factor, self._below[i], side=1, lower=1, trans_a=1, overwrite_b=1)
        self._own[i], self._below[i] = factor, below
        solved = self._substitute(1.0, factor, self.right[i * q : (i + 1) * q], lower=1)
        self.right[i * q : (i + 1) * q] = solved
        self.right[(i + 1) * q : (i + 1) * q + len(below)] -= below @ solved
        for column, begin in enumerate(range(0, len(below), q), start=i + 1):
            part = below[begin : begin + q]
            width = len(part)
            self._own[column][:width, :width] -= part @ part.T
            rest = below[begin + q :]
            self._below[column][: len(rest), :width] -= rest @ part.T

    def middle(self) -> Array:
        """Return the matrix of the middle after the elimination, (MIDDLE·m, MIDDLE·m)."""
        q = self._q
        square = np.zeros((MIDDLE * self._m, MIDDLE * self._m), self._type)
        for place, i in enumerate(range(HALF // BLOCK, (HALF + MIDDLE) // BLOCK)):
            columns = slice(place * q, (place + 1) * q)
            square[columns, columns] = np.tril(self._own[i])
            square[columns.stop : columns.stop + len(self._below[i]), columns] = self._below[i]
        return np.asarray(square + np.tril(square, -1).T)

    def back(self, middle: Array) -> Array:
        """Return the solution (rows, t) of this half and the middle, from the solution of the middle."""
        q = self._q
        self.right[HALF * self._m :] = middle
        for i in reversed(range(HALF // BLOCK)):
            below, end = self._below[i], (i + 1) * q
            rest = self.right[i * q : end] - below.T @ self.right[end : end + len(below)]
            self.right[i * q : end] = self._substitute(1.0, self._own[i], rest, lower=1, trans_a=1)
        return self.right
