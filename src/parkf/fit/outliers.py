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
) -> tuple[Fitted, NDArray[np.int64]]:
    """Remove outliers as :func:`without_outliers`, and fit those candidates again that have lost a hit."""
    rows, cleaned, which = _cleaned(parameters, tracks, fitted, limit, threads)
    removed = np.zeros(tracks.count, dtype=np.int64)
    removed[rows] = which
    return _replaced(fitted, rows, refit(cleaned)) if len(rows) else fitted, removed


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
    rows, cleaned, which = _cleaned(parameters, tracks, fitted, limit, threads)
    whole, removed = tracks.rows(np.arange(tracks.count)), np.zeros(tracks.count, dtype=np.int64)
    removed[rows] = which
    for ours, theirs in zip(_arrays(whole), _arrays(cleaned), strict=True):
        ours[rows] = theirs
    return whole, removed


def _cleaned(
    parameters: ParameterSet, tracks: Candidates, fitted: Fitted, limit: float, threads: int | None
) -> tuple[NDArray[np.intp], Candidates, NDArray[np.int64]]:
    """Return the rows of candidates with outliers, these candidates cleaned, and which hits were removed."""
    # The first search is over the whole batch: to copy the suspects would take as long as to search them.
    numbers, slots = cpu.interval(parameters, tracks, threads=threads)
    suspect = fitted.chi2 > limit + 0.5 * fitted.ndof
    suspect &= fitted.status & STATUS_BITS["non_finite"] == 0
    rows = np.flatnonzero(suspect & _is_outlier(tracks, numbers[0], slots[0], limit))
    cleaned, slot = tracks.rows(rows), slots[0][rows]
    removed = np.zeros(len(rows), dtype=np.int64)
    # Original slot of each VELO hit that is left.
    origins = np.tile(np.arange(VELO_SLOTS), (len(rows), 1))
    left = np.arange(len(rows))
    for number in range(ROUNDS):
        if number:
            some = cleaned.rows(left)
            numbers, slots = cpu.interval(parameters, some, threads=threads)
            bad = _is_outlier(some, numbers[0], slots[0], limit)
            left, slot = left[bad], slots[0][bad]
        original = np.where(slot < VELO_SLOTS, origins[left, np.minimum(slot, VELO_SLOTS - 1)], slot)
        removed[left] |= np.int64(1) << original.astype(np.int64)
        _remove(cleaned, origins, left, slot)
    return rows, cleaned, removed


def _is_outlier(tracks: Candidates, u2: NDArray[Any], slot: NDArray[Any], limit: float) -> NDArray[np.bool_]:
    """Whether the worst hit of each candidate, of this u² and slot, is to be removed."""
    return (u2 > limit) & ((slot >= VELO_SLOTS) | (tracks.velo_n > FEWEST_VELO_HITS))


def _arrays(tracks: Candidates) -> tuple[NDArray[Any], ...]:
    """Arrays that a removal changes."""
    return (tracks.velo_n, *tracks.velo, tracks.ut[0], tracks.scifi[0])


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
