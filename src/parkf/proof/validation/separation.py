"""Cuts that separate ghosts from genuine tracks: on χ²/ndof, and on the scores of the set."""

from typing import Any

import numpy as np
import numpy.typing as npt

from parkf.fit.fitted import is_good
from parkf.fit.sample import Sample, chi2_per_ndof
from parkf.params.ghost_score import NAMES
from parkf.proof.validation.core import Estimate
from parkf.proof.validation.figures import WORKING_POINT, event_of

F64 = npt.NDArray[np.float64]

_NEAR = 0.04  # of efficiencies around the working point
_FARTHEST = 1e9


def measure_scores(sample: Sample) -> dict[str, Any]:
    """Measure the ghosts kept by a cut on each discriminant.

    Discriminants are ``chi2`` (χ²/ndof) and, if tracks have them, ghost scores. Each has
    ``working_point.{genuine, cut, ghost, ghost_error}``, where 91 % of genuine tracks are kept. Larger values
    are kept, failed fits are not.
    """
    measured = {"chi2": measure_cut(sample, -chi2_per_ndof(sample.rows))}
    good = is_good(sample.rows["status"])
    for name in NAMES:
        if name in sample.rows:
            values = np.asarray(sample.rows[name], np.float64)
            measured[name] = measure_cut(sample, np.where(good & np.isfinite(values), values, -np.inf))
    return measured


def measure_cut(sample: Sample, values: F64) -> dict[str, Any]:
    """Measure a discriminant of all candidates (n,), of which larger values are kept: ``working_point``.

    It has ``cut`` and ``ghost``, the fraction of ghosts kept, with errors, and ``genuine``.
    """
    is_genuine, event = sample.is_genuine, event_of(sample.rows)
    # A failed fit is beyond any cut.
    values = np.maximum(values, -_FARTHEST)
    genuine, ghosts = values[is_genuine], values[sample.is_ghost]
    near = 1 - WORKING_POINT + _NEAR * np.array((-1, 0, 1))
    below, cut, above = np.quantile(genuine, near, method="lower")
    # A track that is kept moves the cut by its share of the density there.
    kept = np.where(is_genuine, (values < cut) - (1 - WORKING_POINT), 0.0)
    moved = Estimate(cut, -kept * (above - below) / (2 * _NEAR) / len(genuine))
    # A small sample without ghosts does not prove a fraction of 0.
    error = max(ghosts_kept(sample, values).error(event), 1 / len(ghosts))
    point = {"genuine": float((genuine >= cut).mean()), "ghost": float((ghosts >= cut).mean())}
    return {"working_point": {**point, **moved.named("cut", event), "ghost_error": error}}


def ghosts_kept(sample: Sample, values: F64) -> Estimate:
    """Estimate the fraction of ghosts that cuts keep, averaged over efficiencies of 87 to 95 %.

    The average has no steps, so that it tells two fits of the same candidates apart better than one cut does,
    and its error is right for few ghosts, too. Of all pairs of a ghost and a genuine track it counts which of
    both comes first, as the area under a ROC curve does (DeLong et al., Biometrics 44 (1988) 837). `values`
    are those of all candidates (n,); larger ones are kept.
    """
    is_genuine, is_ghost = sample.is_genuine, sample.is_ghost
    genuine, ghosts = np.sort(-values[is_genuine]), -values[is_ghost]
    efficiency = np.searchsorted(genuine, ghosts, side="right") / len(genuine)
    share = np.clip((WORKING_POINT + _NEAR - efficiency) / (2 * _NEAR), 0, 1)
    influence = np.zeros(len(values))
    influence[is_ghost] = (share - share.mean()) / len(ghosts)
    near = (efficiency > WORKING_POINT - _NEAR) & (efficiency < WORKING_POINT + _NEAR)
    behind = near.sum() - np.searchsorted(np.sort(ghosts[near]), -values[is_genuine])
    pairs = 2 * _NEAR * len(ghosts) * len(genuine)
    influence[is_genuine] = (efficiency[near].sum() - behind) / pairs
    return Estimate(float(share.mean()), influence)
