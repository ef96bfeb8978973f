"""Removal of outliers on processor cores: hits that agree least with the candidate's other hits.

The smoother compares each hit with all other hits (:func:`fit_without_outliers`). LHCb's trigger compares it
with the hits before it, and keeps a removal if χ²/ndof falls (:func:`fit_as_trigger`). Both remove one hit of
a candidate at a time, and at most three.
"""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.fit import cpu
from parkf.fit.candidates import Candidates
from parkf.fit.fitted import INTEGERS, NUMBERS, Fitted
from parkf.io.option_types import Origin
from parkf.io.planes import SCIFI_LAYERS, UT_LAYERS
from parkf.io.tables import VELO_SLOTS
from parkf.params.parameter_set import ParameterSet

_UT, _SCIFI = VELO_SLOTS, VELO_SLOTS + UT_LAYERS
OUTLIER = 16.0
# Number of rounds; a candidate loses at most one hit in each.
ROUNDS = 3


def fit_without_outliers(
    parameters: ParameterSet,
    tracks: Candidates,
    *,
    limit: float = OUTLIER,
    threads: int | None = None,
    origin: Origin = "vertex",
) -> tuple[Fitted, NDArray[np.int64]]:
    """Fit by the smoother without outliers.

    An outlier is a hit whose u² from the prediction by all other hits of the candidate is above `limit`. u²
    is the squared distance in x (in the VELO, in x or y) over its variance, in a fit without the hit. This is
    the decrease of χ² if the hit is removed. The worst hit of a candidate is removed if its u² is above the
    limit, and the candidate is fitted again as if the hit had never existed. Up to three hits are removed,
    one after the other, but at least three VELO hits stay. Candidates whose fit has a χ² below limit + ½ndof
    keep their hits: a hit above the limit would leave less than ½ndof for all their other hits. Return the
    fits, and which hits they leave out, (n,): bit s for VELO slot s of `tracks`, bit 26 + l for UT layer l,
    bit 30 + l for SciFi layer l.
    """
    fitted, removed, _, _ = cpu.fit_without_outliers(
        parameters, tracks, limit=limit, threads=threads, origin=origin
    )
    return fitted.flagged(tracks.nulls, "null_number"), removed


def without_hits(tracks: Candidates, removed: NDArray[np.int64]) -> Candidates:
    """Return the batch without the hits whose bits are set, as :func:`fit_without_outliers` returns them."""
    gone = (removed[:, None] >> np.arange(_SCIFI + SCIFI_LAYERS) & 1).astype(bool)
    # In the VELO, later hits move up.
    left = np.argsort(gone[:, :_UT], axis=1, kind="stable")
    return dataclasses.replace(
        tracks,
        velo_n=tracks.velo_n - gone[:, :_UT].sum(axis=1, dtype=np.int32),
        velo=tuple(np.take_along_axis(a, left, axis=1) for a in tracks.velo),
        ut=(np.where(gone[:, _UT:_SCIFI], np.nan, tracks.ut[0]), *tracks.ut[1:]),
        scifi=(np.where(gone[:, _SCIFI:], np.nan, tracks.scifi[0]), *tracks.scifi[1:]),
    )


def fit_as_trigger(
    parameters: ParameterSet, tracks: Candidates, *, limit: float = OUTLIER, threads: int | None = None
) -> tuple[Fitted, NDArray[np.int64]]:
    """Fit in the trigger's arithmetic, with its removal of outliers.

    The χ² of a hit measures its distance from the prediction by the hits before it. If the largest χ² of a
    candidate is above the limit, the candidate is fitted again without that hit. The new fit is kept if
    χ²/ndof falls. The new fit still steps to a VELO hit that is left out, and adds the scattering of the
    step. At least three VELO hits, three UT layers and nine SciFi layers stay. The set must have production's
    forms. Return the fits, and which hits they leave out, (n,), as :func:`fit_without_outliers` does.
    """
    removed = np.zeros(tracks.count, dtype=np.int64)
    fitted, worst, slot = cpu.fit_and_search(parameters, tracks, removed, threads=threads)
    rows = np.flatnonzero(worst > limit)
    slot = slot[rows]
    for _ in range(ROUNDS):
        if not len(rows):
            break
        tried = removed[rows] | np.int64(1) << slot.astype(np.int64)
        again, worst, slot = cpu.fit_and_search(parameters, tracks.rows(rows), tried, threads=threads)
        better = again.chi2 * fitted.ndof[rows] < fitted.chi2[rows] * again.ndof
        better &= (fitted.ndof[rows] > 0) & (again.ndof > 0)
        removed[rows[better]] = tried[better]
        fitted = _replaced(fitted, rows, again, better)
        on = better & (worst > limit)
        rows, slot = rows[on], slot[on]
    return fitted.flagged(tracks.nulls, "null_number"), removed


def _replaced(
    fitted: Fitted, rows: NDArray[Any], by: Fitted, which: NDArray[Any] | slice = slice(None)
) -> Fitted:
    """Replace the fits of `rows`, or only of the rows that `which` selects among them."""
    arrays = {}
    for name in (*NUMBERS, *INTEGERS):
        arrays[name] = getattr(fitted, name).copy()
        arrays[name][rows[which]] = getattr(by, name)[which]
    return dataclasses.replace(fitted, **arrays)
