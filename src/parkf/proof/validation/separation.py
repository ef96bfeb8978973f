"""Separation of ghosts and genuine tracks by three parts of χ², which tell more than their sum.

A false match has good pieces in VELO and SciFi and a bad one behind the magnet, a soft track is a little bad
everywhere. The discriminant is a logistic function of the logarithms of the pieces up to their squares and
products, learnt on every other event and applied to the rest, in both directions.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from parkf.fit.sample import DETECTORS, GHOST_PURITY, Sample
from parkf.io.track_columns import Rows

F64 = npt.NDArray[np.float64]

_FLOOR = 0.05  # χ²/ndof that is added before the logarithm, so that nearly perfect pieces count the same
_ROUNDS = 25
_RIDGE = 1.0  # L2 regularisation of a standardised coefficient, in units of one track's weight
_COUNT = 11  # terms: one, three pieces, six products, and the UT's
_BLOCK = 1 << 14  # number of tracks whose terms are in memory at a time


def discriminant(sample: Sample) -> tuple[F64, F64]:
    """Return the discriminant of genuine tracks and of ghosts; −∞ where the fit failed.

    Parameters
    ----------
    sample : Sample
        Fits with all three pieces of χ².

    Returns
    -------
    genuine, ghosts : (n,) float64
        In the order of the sample's rows; the larger, the more a track looks genuine.
    """
    rows = sample.rows[sample.is_genuine | sample.is_ghost]
    genuine = np.asarray(rows["purity"]) >= GHOST_PURITY
    good = np.asarray(rows["status"]) == 0
    odd = np.asarray(rows["event"]) % 2 == 1
    terms = _Terms(rows)
    value = np.full(len(rows), -np.inf)
    for half in (odd, ~odd):
        learnt = _learn(terms, genuine, good & half)
        for block in _blocks(good & ~half):
            value[block] = terms.of(block) @ learnt
    return value[genuine], value[~genuine]


def _blocks(mask: npt.NDArray[np.bool_]) -> Iterator[npt.NDArray[np.int64]]:
    chosen = np.flatnonzero(mask)
    for begin in range(0, len(chosen), _BLOCK):
        yield chosen[begin : begin + _BLOCK]


class _Terms:
    """Logarithms of the pieces, squares and products, and whether the UT saw the track; standardised."""

    def __init__(self, rows: Rows) -> None:
        self._pieces = np.empty((len(rows), len(DETECTORS)))
        for i, name in enumerate(DETECTORS):
            ndof = np.maximum(np.asarray(rows[f"ndof_{name}"]), 1)
            self._pieces[:, i] = np.log(_FLOOR + np.asarray(rows[f"chi2_{name}"], np.float64) / ndof)
        self._in_ut = np.asarray(rows["ndof_ut"]) > 0
        everything = np.ones(len(rows), bool)
        self._mean = sum(self._bare(block).sum(0) for block in _blocks(everything)) / len(rows)
        square = sum(((self._bare(block) - self._mean) ** 2).sum(0) for block in _blocks(everything))
        self._width = np.maximum(np.sqrt(square / len(rows)), 1e-9)

    def of(self, block: npt.NDArray[np.int64]) -> F64:
        """Terms of these rows, (n, 11); the first is one."""
        terms = (self._bare(block) - self._mean) / self._width
        return np.column_stack([np.ones(len(terms)), terms])

    def _bare(self, block: npt.NDArray[np.int64]) -> F64:
        pieces = self._pieces[block].T
        products = [pieces[i] * pieces[j] for i in range(3) for j in range(i, 3)]
        return np.nan_to_num(
            np.column_stack([*pieces, *products, self._in_ut[block]]), posinf=0.0, neginf=0.0
        )


def _learn(terms: _Terms, genuine: npt.NDArray[np.bool_], of: npt.NDArray[np.bool_]) -> F64:
    """Logistic regression by Newton's method on some of the tracks; both classes have the same weight."""
    share = genuine[of].mean()
    weights = 0.5 / max(1 - share, 1e-9), 0.5 / max(share, 1e-9)
    coefficients = np.zeros(_COUNT)
    for _ in range(_ROUNDS):
        gradient, curvature = -_RIDGE * coefficients, _RIDGE * np.eye(_COUNT)
        for block in _blocks(of):
            x, y = terms.of(block), genuine[block]
            weight = np.where(y, weights[1], weights[0])
            probability = 1 / (1 + np.exp(-x @ coefficients))
            gradient += x.T @ (weight * (y - probability))
            curvature += (x * (weight * probability * (1 - probability))[:, None]).T @ x
        step = np.linalg.solve(curvature, gradient)
        coefficients += step
        if np.abs(step).max() < 1e-9:
            break
    return coefficients
