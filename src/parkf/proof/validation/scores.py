"""Ghosts kept by each discriminant, and which genuine tracks are lost by the cut on it."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from parkf.fit.sample import Sample, chi2_per_ndof
from parkf.io.track_columns import Rows
from parkf.params.ghost_score import NAMES
from parkf.proof.validation.separation import discriminant

F64 = npt.NDArray[np.float64]

WORKING_POINT = 0.91  # genuine efficiency of the paper's selection
_ENOUGH = 50


def _p(rows: Rows) -> F64:
    return 1e-3 * np.asarray(rows["p_true"], np.float64)


def _slope(rows: Rows) -> F64:
    return np.hypot(np.asarray(rows["true_tx"], np.float64), np.asarray(rows["true_ty"], np.float64))


def _eta(rows: Rows) -> F64:
    eta: F64 = np.arcsinh(1.0 / _slope(rows))
    return eta


def _pt(rows: Rows) -> F64:
    slope = _slope(rows)
    return _p(rows) * slope / np.sqrt(1.0 + slope**2)


def _displacement(rows: Rows) -> F64:
    x, y, tx, ty = (np.asarray(rows[f"true_{name}"], np.float64) for name in ("x", "y", "tx", "ty"))
    return np.abs(x * ty - y * tx) / _slope(rows)


# Units: p and pt in GeV; displacement in mm, the closest distance of the true track from the z axis.
SLICES: Mapping[str, tuple[Callable[[Rows], F64], tuple[float, ...]]] = {
    "p": (_p, (2, 3, 5, 10, 20, 50, 100)),
    "eta": (_eta, (2, 2.5, 3, 3.5, 4, 4.5, 5)),
    "pt": (_pt, (0, 0.1, 0.2, 0.3, 0.5, 1, 2, 20)),
    "displacement": (_displacement, (0, 0.1, 0.3, 1, 3, 10, 100)),
}


def measure_scores(sample: Sample) -> dict[str, Any]:
    """Cut on each discriminant where 91% of all genuine tracks are kept.

    Parameters
    ----------
    sample : Sample
        Fits by all detectors.

    Returns
    -------
    dict
        For ``chi2`` (χ²/ndof), ``pieces`` (:func:`parkf.proof.validation.separation.discriminant`) and, where
        tracks have them, the ghost scores: ``working_point.{genuine, cut, ghost, ghost_error}``, and
        ``efficiency.<p, eta, pt, displacement>[] = {low, high, n, genuine, genuine_error}`` of genuine
        tracks at that cut, in slices with 50 of them. Larger values are more genuine; a fit that failed is
        never kept.
    """
    genuine, ghosts = sample.genuine, sample.ghosts
    places = {name: np.digitize(of(genuine), edges).astype(np.int8) for name, (of, edges) in SLICES.items()}
    # One after the other, since each array is as long as the sample.
    measured = {
        "chi2": _measure(-chi2_per_ndof(genuine), -chi2_per_ndof(ghosts), places),
        "pieces": _measure(*discriminant(sample), places),
    }
    for name in NAMES:
        if name in sample.rows:
            measured[name] = _measure(_score(genuine, name), _score(ghosts, name), places)
    return measured


def _score(rows: Rows, name: str) -> F64:
    values = np.asarray(rows[name], np.float64)
    good = (np.asarray(rows["status"]) == 0) & np.isfinite(values)
    return np.where(good, values, -np.inf)


def _share(kept: npt.NDArray[np.bool_]) -> tuple[float, float]:
    share = float(kept.mean())
    return share, float(np.sqrt(max(share * (1 - share), 1 / len(kept)) / len(kept)))


def _measure(genuine: F64, ghosts: F64, places: Mapping[str, npt.NDArray[np.int8]]) -> dict[str, Any]:
    cut = float(np.quantile(genuine, 1 - WORKING_POINT, method="lower"))
    kept = genuine >= cut
    ghost, ghost_error = _share(ghosts >= cut)
    efficiency: dict[str, list[dict[str, float]]] = {}
    for name, (_, edges) in SLICES.items():
        efficiency[name] = []
        for number, (low, high) in enumerate(pairwise(edges), start=1):
            here = places[name] == number
            if here.sum() >= _ENOUGH:
                share, error = _share(kept[here])
                slices = {"low": low, "high": high, "n": int(here.sum())}
                efficiency[name].append({**slices, "genuine": share, "genuine_error": error})
    point = {"genuine": float(kept.mean()), "cut": cut, "ghost": ghost, "ghost_error": ghost_error}
    return {"working_point": point, "efficiency": efficiency}
