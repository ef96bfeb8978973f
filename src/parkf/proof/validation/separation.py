"""Cuts that separate ghosts from genuine tracks: on χ²/ndof, and on the scores of the set."""

from typing import Any

import numpy as np
import numpy.typing as npt

from parkf.fit.fitted import is_good
from parkf.fit.sample import Sample, chi2_per_ndof
from parkf.io.track_columns import Rows
from parkf.params.ghost_score import NAMES
from parkf.proof.validation.figures import WORKING_POINT, share

F64 = npt.NDArray[np.float64]


def measure_scores(sample: Sample) -> dict[str, Any]:
    """Measure the ghosts kept by a cut on each discriminant.

    Discriminants are ``chi2`` (χ²/ndof) and, if tracks have them, ghost scores. Each has
    ``working_point.{genuine, cut, ghost, ghost_error}``, where 91 % of genuine tracks are kept. Larger values
    are kept, failed fits are not.
    """
    genuine, ghosts = sample.genuine, sample.ghosts
    # The discriminants are measured one after the other, because each array is as long as the sample.
    measured = {"chi2": measure_cut(-chi2_per_ndof(genuine), -chi2_per_ndof(ghosts))}

    def score(rows: Rows, name: str) -> F64:
        values = np.asarray(rows[name], np.float64)
        good = is_good(rows["status"]) & np.isfinite(values)
        return np.where(good, values, -np.inf)

    scores = [name for name in NAMES if name in sample.rows]
    return measured | {name: measure_cut(score(genuine, name), score(ghosts, name)) for name in scores}


def measure_cut(genuine: F64, ghosts: F64) -> dict[str, Any]:
    """Measure a discriminant of genuine tracks and of ghosts; return ``working_point``."""
    cut = float(np.quantile(genuine, 1 - WORKING_POINT, method="lower"))
    point = {"genuine": float((genuine >= cut).mean()), "cut": cut, **share("ghost", ghosts >= cut)}
    return {"working_point": point}
