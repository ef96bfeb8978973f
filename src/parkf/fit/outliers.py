"""Removal of outliers on processor cores: hits that agree least with the candidate's other hits.

The smoother compares each hit with all other hits (:func:`without_outliers`). LHCb's trigger compares it with
the hits before it, and keeps a removal if χ²/ndof falls (:func:`fit_as_trigger`). Both remove one hit of a
candidate at a time, and at most three.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.fit import cpu
from parkf.fit.candidates import Candidates
from parkf.fit.fitted import INTEGERS, NUMBERS, STATUS_BITS, Fitted
from parkf.io.planes import UT_LAYERS
from parkf.io.tables import VELO_SLOTS
from parkf.params.parameter_set import ParameterSet

_UT, _SCIFI = VELO_SLOTS, VELO_SLOTS + UT_LAYERS
OUTLIER = 16.0
# Number of rounds; a candidate loses at most one hit in each.
ROUNDS = 3
FEWEST_VELO_HITS = 3


def fit_again(
    parameters: ParameterSet,
    tracks: Candidates,
    fitted: Fitted,
    refit: Callable[[Candidates], Fitted],
    *,
    limit: float,
    threads: int | None = None,
) -> tuple[Candidates, Fitted, NDArray[np.int64]]:
    """Remove outliers by :func:`without_outliers`, and refit the candidates that have lost a hit."""
    cleaned, removed = without_outliers(parameters, tracks, fitted, limit=limit, threads=threads)
    rows = np.flatnonzero(removed)
    if len(rows):
        fitted = _replaced(fitted, rows, refit(cleaned.rows(rows)))
    return cleaned, fitted, removed


def fit_as_trigger(
    parameters: ParameterSet, tracks: Candidates, *, limit: float = OUTLIER, threads: int | None = None
) -> tuple[Fitted, NDArray[np.int64]]:
    """Fit in the trigger's arithmetic, with its removal of outliers.

    The χ² of a hit measures its distance from the prediction by the hits before it. If the largest χ² of a
    candidate is above the limit, the candidate is fitted again without that hit. The new fit is kept if
    χ²/ndof falls. The new fit still steps to a VELO hit that is left out, and adds the scattering of the
    step. At least three VELO hits, three UT layers and nine SciFi layers stay. The set must have production's
    forms. Return the fits, and which hits they leave out, (n,), in the same form as :func:`without_outliers`.
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
    return fitted, removed


def _replaced(
    fitted: Fitted, rows: NDArray[Any], by: Fitted, which: NDArray[Any] | slice = slice(None)
) -> Fitted:
    """Replace the fits of `rows`, or only of the rows that `which` selects among them."""
    arrays = {}
    for name in (*NUMBERS, *INTEGERS):
        arrays[name] = getattr(fitted, name).copy()
        arrays[name][rows[which]] = getattr(by, name)[which]
    return dataclasses.replace(fitted, **arrays)


def without_outliers(
    parameters: ParameterSet,
    tracks: Candidates,
    fitted: Fitted,
    *,
    limit: float = OUTLIER,
    threads: int | None = None,
) -> tuple[Candidates, NDArray[np.int64]]:
    """Remove outliers: hits whose u² from the prediction by all other hits of the candidate is above `limit`.

    u² is the squared distance in x (in the VELO, in x or y) over its variance, in a fit without the hit. This
    is the decrease of χ² if the hit is removed. The worst hit of a candidate is removed if its u² is above
    the limit. Up to three hits are removed, one after the other, but at least three VELO hits stay.
    Candidates whose fit has a χ² below limit + ½ndof are skipped: a hit above the limit would leave less than
    ½ndof for all their other hits. Return a batch without the outliers, and which hits they were, (n,): bit s
    for VELO slot s of `tracks`, bit 26 + l for UT layer l, bit 30 + l for SciFi layer l.
    """
    removed = np.zeros(tracks.count, dtype=np.int64)
    suspects = np.flatnonzero(
        (fitted.chi2 > limit + 0.5 * fitted.ndof) & (fitted.status & STATUS_BITS["non_finite"] == 0)
    )
    cleaned = tracks
    # Original slot of each remaining hit.
    origins = np.broadcast_to(np.arange(VELO_SLOTS), (tracks.count, VELO_SLOTS))
    for _ in range(ROUNDS):
        numbers, slots = cpu.interval(parameters, cleaned.rows(suspects), threads=threads)
        slot = slots[0]
        bad = numbers[0] > limit
        bad &= (slot >= VELO_SLOTS) | (cleaned.velo_n[suspects] > FEWEST_VELO_HITS)
        suspects, slot = suspects[bad], slot[bad]
        if not len(suspects):
            break
        if cleaned is tracks:
            cleaned, origins = tracks.rows(np.arange(tracks.count)), origins.copy()
        in_velo = slot < VELO_SLOTS
        original = np.where(in_velo, origins[suspects, np.minimum(slot, VELO_SLOTS - 1)], slot)
        removed[suspects] |= np.int64(1) << original.astype(np.int64)
        _remove(cleaned, origins, suspects, slot)
    return cleaned, removed


def _remove(tracks: Candidates, origins: NDArray[Any], rows: NDArray[Any], slots: NDArray[Any]) -> None:
    """Remove a hit from each of these rows, in place."""
    ut, scifi = (slots >= _UT) & (slots < _SCIFI), slots >= _SCIFI
    tracks.ut[0][rows[ut], slots[ut] - _UT] = np.nan
    tracks.scifi[0][rows[scifi], slots[scifi] - _SCIFI] = np.nan
    velo = slots < VELO_SLOTS
    rows, slots = rows[velo], slots[velo]
    order = np.arange(VELO_SLOTS) + (np.arange(VELO_SLOTS) >= slots[:, None])
    order = np.minimum(order, VELO_SLOTS - 1)
    for array in (*tracks.velo, origins):
        array[rows] = np.take_along_axis(array[rows], order, axis=1)
    tracks.velo_n[rows] -= 1
