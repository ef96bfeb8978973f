"""Separation of ghosts and genuine tracks by three parts of χ², which reveal more than their sum.

A false match has good pieces in VELO and SciFi but a bad one behind the magnet; a soft track has a slightly
bad χ² in all pieces. The discriminant is a logistic function of the pieces' logarithms, their squares and
products. It is trained on every second event and applied to the other events, and the other way round.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from parkf.fit.fitted import is_good
from parkf.fit.sample import DETECTORS, GHOST_PURITY, Sample, chi2_per_ndof
from parkf.io.track_columns import Rows
from parkf.params.flat_cut import NAME
from parkf.params.ghost_score import NAMES
from parkf.proof.validation.figures import ENOUGH, WORKING_POINT, binned, displacement, share

F64 = npt.NDArray[np.float64]

_FLOOR = 0.05  # χ²/ndof that is added before the logarithm, so that nearly perfect pieces count the same
_ROUNDS = 25
_RIDGE = 1.0  # L2 regularisation of a standardised coefficient, in units of one track's weight
_COUNT = 11  # terms: one, three pieces, six products, and the UT's
_BLOCK = 1 << 14  # number of tracks whose terms are in memory at a time

# Units: p and pt in GeV; displacement in mm, the closest distance of the true track from the z axis.
SLICES = {
    "p": (2, 3, 5, 10, 20, 50, 100),
    "eta": (2, 2.5, 3, 3.5, 4, 4.5, 5),
    "pt": (0, 0.1, 0.2, 0.3, 0.5, 1, 2, 20),
    "displacement": (0, 0.1, 0.3, 1, 3, 10, 100),
}


def _sliced(rows: Rows) -> dict[str, F64]:
    """Return the variables of :data:`SLICES`, (n,)."""
    p, tx, ty = (np.asarray(rows[name], np.float64) for name in ("p_true", "true_tx", "true_ty"))
    p, slope = 1e-3 * p, np.hypot(tx, ty)
    pt = p * slope / np.sqrt(1.0 + slope**2)
    return {"p": p, "eta": np.arcsinh(1.0 / slope), "pt": pt, "displacement": displacement(rows)}


def measure_scores(sample: Sample) -> dict[str, Any]:
    """Measure the ghosts kept by a cut on each discriminant, and which genuine tracks the cut loses.

    Discriminants are ``chi2`` (χ²/ndof), ``pieces`` (:func:`discriminant`) and, if tracks have them, ghost
    scores. Each has ``working_point.{genuine, cut, ghost, ghost_error}``, where 91 % of genuine tracks are
    kept. ``efficiency.<p, eta, pt, displacement>[] = {low, high, n, genuine, genuine_error}`` are those of
    genuine tracks at this cut, in slices with at least 50. Larger values are kept, failed fits are not.
    """
    genuine, ghosts = sample.genuine, sample.ghosts
    # The discriminants are measured one after the other, because each array is as long as the sample.
    measured = {
        "chi2": measure_cut(-chi2_per_ndof(genuine), -chi2_per_ndof(ghosts), genuine),
        "pieces": measure_cut(*discriminant(sample), genuine),
    }

    def score(rows: Rows, name: str) -> F64:
        values = np.asarray(rows[name], np.float64)
        good = is_good(rows["status"]) & np.isfinite(values)
        return np.where(good, values, -np.inf)

    scores = [name for name in (*NAMES, NAME) if name in sample.rows]
    return measured | {
        name: measure_cut(score(genuine, name), score(ghosts, name), genuine) for name in scores
    }


def measure_cut(genuine: F64, ghosts: F64, rows: Rows) -> dict[str, Any]:
    """Measure a discriminant (n,) of the genuine tracks `rows`, and of ghosts.

    Return ``working_point`` and ``efficiency`` as :func:`measure_scores` has them.
    """
    cut = float(np.quantile(genuine, 1 - WORKING_POINT, method="lower"))
    kept = genuine >= cut

    slices = {
        name: [
            {"low": low, "high": high, "n": int(here.sum()), **share("genuine", kept[here])}
            for low, high, here in binned(values, SLICES[name], ENOUGH)
        ]
        for name, values in _sliced(rows).items()
    }
    point = {"genuine": float(kept.mean()), "cut": cut, **share("ghost", ghosts >= cut)}
    return {"working_point": point, "efficiency": slices}


def discriminant(sample: Sample) -> tuple[F64, F64]:
    """Return the discriminant of genuine tracks (n,) and of ghosts (m,), in the order of the sample's rows.

    The larger the value, the more a track looks genuine; it is −∞ where the fit failed.
    """
    rows = sample.rows[sample.is_genuine | sample.is_ghost]
    genuine = np.asarray(rows["purity"]) >= GHOST_PURITY
    good = is_good(rows["status"])
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
    """Logistic regression by Newton's method on a part of the tracks; both classes have the same weight."""
    fraction = genuine[of].mean()
    weights = 0.5 / max(1 - fraction, 1e-9), 0.5 / max(fraction, 1e-9)
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
