"""Ghosts against genuine tracks by the three pieces of χ², which say more apart than as a sum.

A false match has good pieces in VELO and SciFi and a bad one behind the magnet, a soft track is a little bad
everywhere. The discriminant is a logistic function of the logarithms of the pieces up to their squares and
products, learnt on every other event and applied to the rest, in both directions.
"""

import numpy as np
import numpy.typing as npt
import pandas as pd

from parkf.validation.sample import DETECTORS, GHOST_PURITY, Sample

F64 = npt.NDArray[np.float64]

_FLOOR = 0.05  # χ²/ndof; perfect pieces are all alike
_ROUNDS = 25
_RIDGE = 1.0  # of a standardised coefficient, in tracks


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
    rows = sample.rows.loc[sample.genuine.index.union(sample.ghosts.index)]
    genuine = (rows.purity >= GHOST_PURITY).to_numpy()
    good = (rows.status == 0).to_numpy()
    terms = _terms(rows)
    odd = (rows.event % 2 == 1).to_numpy()
    value = np.full(len(rows), -np.inf)
    for half in (odd, ~odd):
        learnt = _learn(terms[good & half], genuine[good & half])
        value[good & ~half] = terms[good & ~half] @ learnt
    return value[genuine], value[~genuine]


def _terms(rows: pd.DataFrame) -> F64:
    """Logarithms of the pieces, their squares and products, and whether the UT saw the track; (n, 11)."""
    pieces = [
        np.log(
            _FLOOR
            + rows[f"chi2_{name}"].to_numpy(np.float64) / np.maximum(rows[f"ndof_{name}"].to_numpy(), 1)
        )
        for name in DETECTORS
    ]
    products = [pieces[i] * pieces[j] for i in range(3) for j in range(i, 3)]
    terms = np.column_stack([*pieces, *products, rows.ndof_ut.to_numpy() > 0])
    terms = np.nan_to_num(terms, posinf=0.0, neginf=0.0)
    terms = (terms - terms.mean(0)) / np.maximum(terms.std(0), 1e-9)
    return np.column_stack([np.ones(len(terms)), terms])


def _learn(terms: F64, genuine: npt.NDArray[np.bool_]) -> F64:
    """Logistic regression by Newton's method; both kinds weigh the same."""
    weight = np.where(genuine, 0.5 / max(genuine.mean(), 1e-9), 0.5 / max(1 - genuine.mean(), 1e-9))
    coefficients = np.zeros(terms.shape[1])
    for _ in range(_ROUNDS):
        probability = 1 / (1 + np.exp(-terms @ coefficients))
        gradient = terms.T @ (weight * (genuine - probability)) - _RIDGE * coefficients
        curvature = (terms * (weight * probability * (1 - probability))[:, None]).T @ terms
        step = np.linalg.solve(curvature + _RIDGE * np.eye(len(coefficients)), gradient)
        coefficients += step
        if np.abs(step).max() < 1e-9:
            break
    return coefficients
