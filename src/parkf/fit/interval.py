"""Outlier hits, which agree least with the others of their candidate: by the smoother on processor cores."""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.fit import cpu
from parkf.fit.candidates import Candidates
from parkf.fit.fitted import STATUS_BITS, Fitted
from parkf.io.planes import UT_LAYERS
from parkf.io.tables import VELO_SLOTS
from parkf.params.parameter_set import ParameterSet

OUTLIER = 16.0
# Number of rounds; a candidate loses at most one hit in each.
ROUNDS = 3
FEWEST_VELO_HITS = 3


def without_outliers(
    parameters: ParameterSet,
    tracks: Candidates,
    fitted: Fitted,
    *,
    limit: float = OUTLIER,
    threads: int | None = None,
) -> tuple[Candidates, NDArray[np.int64]]:
    """Remove outliers: hits further than `limit` from the prediction by all other hits of the candidate.

    A hit's u² is the squared distance of x (in the VELO, of x or y) over its variance, in a fit without the
    hit: the decrease of χ² if it is removed. The worst hit of a candidate is removed if its u² is above the
    limit; up to three are removed, one after the other. Three VELO hits stay.

    Parameters
    ----------
    parameters : ParameterSet
        The set to fit with.
    tracks : Candidates
        The batch, n candidates. It is not changed.
    fitted : Fitted
        Its fit. Candidates with a χ² below limit + ½ndof are skipped: a hit above the limit would leave less
        than ½ndof for all their other hits.
    limit : float
        Largest u² of a hit that may stay.
    threads : int, optional
        Threads; as many as cores by default.

    Returns
    -------
    Candidates, (n,) int64
        The batch without those hits, and which they were: bit s for VELO slot s of `tracks`, 26 + l for UT
        layer l, 30 + l for SciFi layer l.
    """
    removed = np.zeros(tracks.count, dtype=np.int64)
    chi2 = fitted.chi2_velo + fitted.chi2_ut + fitted.chi2_scifi
    ndof = fitted.ndof_velo + fitted.ndof_ut + fitted.ndof_scifi
    suspects = np.flatnonzero((chi2 > limit + 0.5 * ndof) & (fitted.status & STATUS_BITS["non_finite"] == 0))
    cleaned = tracks
    # Original slot of each hit that is left.
    origins = np.broadcast_to(np.arange(VELO_SLOTS), (tracks.count, VELO_SLOTS))
    for _ in range(ROUNDS):
        if not len(suspects):
            break
        numbers, slots = cpu.interval(parameters, cleaned.rows(suspects), threads=threads)
        slot = slots[0]
        bad = numbers[0] > limit
        bad &= (slot >= VELO_SLOTS) | (cleaned.velo_n[suspects] > FEWEST_VELO_HITS)
        suspects, slot = suspects[bad], slot[bad]
        if not len(suspects):
            break
        if cleaned is tracks:
            cleaned, origins = _copied(tracks), origins.copy()
        in_velo = slot < VELO_SLOTS
        original = np.where(in_velo, origins[suspects, np.minimum(slot, VELO_SLOTS - 1)], slot)
        removed[suspects] |= np.int64(1) << original.astype(np.int64)
        _remove(cleaned, origins, suspects, slot)
    return cleaned, removed


def _copied(tracks: Candidates) -> Candidates:
    """Copy the arrays that hits are removed from."""
    return dataclasses.replace(
        tracks,
        velo_n=tracks.velo_n.copy(),
        velo=tuple(a.copy() for a in tracks.velo),
        ut=(tracks.ut[0].copy(), *tracks.ut[1:]),
        scifi=(tracks.scifi[0].copy(), *tracks.scifi[1:]),
    )


def _remove(tracks: Candidates, origins: NDArray[Any], rows: NDArray[Any], slots: NDArray[Any]) -> None:
    """Remove a hit from each of these rows, in place."""
    ut = (slots >= VELO_SLOTS) & (slots < VELO_SLOTS + UT_LAYERS)
    scifi = slots >= VELO_SLOTS + UT_LAYERS
    tracks.ut[0][rows[ut], slots[ut] - VELO_SLOTS] = np.nan
    tracks.scifi[0][rows[scifi], slots[scifi] - VELO_SLOTS - UT_LAYERS] = np.nan
    velo = slots < VELO_SLOTS
    rows, slots = rows[velo], slots[velo]
    order = np.arange(VELO_SLOTS) + (np.arange(VELO_SLOTS) >= slots[:, None])
    order = np.minimum(order, VELO_SLOTS - 1)
    for array in (*tracks.velo, origins):
        array[rows] = np.take_along_axis(array[rows], order, axis=1)
    tracks.velo_n[rows] -= 1
