"""Cuts that separate ghosts from genuine tracks: on χ²/ndof, and on the scores of the set."""

from typing import Any

import numpy as np
import numpy.typing as npt

from parkf.fit.fitted import is_good
from parkf.fit.sample import Sample, chi2_per_ndof
from parkf.io.track_columns import Rows
from parkf.params.ghost_score import NAMES
from parkf.proof.validation.figures import ENOUGH, WORKING_POINT, binned, displacement, share

F64 = npt.NDArray[np.float64]

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

    Discriminants are ``chi2`` (χ²/ndof) and, if tracks have them, ghost scores. Each has
    ``working_point.{genuine, cut, ghost, ghost_error}``, where 91 % of genuine tracks are kept.
    ``efficiency.<p, eta, pt, displacement>[] = {low, high, n, genuine, genuine_error}`` are those of genuine
    tracks at this cut, in slices with at least 50. Larger values are kept, failed fits are not.
    """
    genuine, ghosts = sample.genuine, sample.ghosts
    # The discriminants are measured one after the other, because each array is as long as the sample.
    measured = {"chi2": measure_cut(-chi2_per_ndof(genuine), -chi2_per_ndof(ghosts), genuine)}

    def score(rows: Rows, name: str) -> F64:
        values = np.asarray(rows[name], np.float64)
        good = is_good(rows["status"]) & np.isfinite(values)
        return np.where(good, values, -np.inf)

    scores = [name for name in NAMES if name in sample.rows]
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
