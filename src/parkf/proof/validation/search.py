"""What a search finds of the tracks of a kind, and the ghosts among its candidates."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from parkf.fit.sample import Sample, chi2_per_ndof
from parkf.io.track_columns import Rows
from parkf.proof.validation.figures import ENOUGH, binned, share
from parkf.proof.validation.separation import measure_cut


def measure_search(found: Sample, true: Sample, edges: Sequence[float]) -> dict[str, Any]:
    """Measure a search by its candidates and by those of the truth, both fitted by a set.

    Return ``candidates``, ``ghosts`` (the share of ghosts among them) with its error, and ``efficiency``, the
    share of true candidates whose particle was found, with its error and their number in bins of momentum
    with `edges` in MeV. ``chi2`` is what a cut on χ²/ndof keeps
    (:func:`parkf.proof.validation.separation.measure_cut`); it is missing if there are few candidates.
    """
    genuine, ghosts = found.genuine, found.ghosts
    there = np.isin(_particles(true.genuine), _particles(genuine))
    is_ghost = np.repeat([True, False], [len(ghosts), len(genuine)])
    figures: dict[str, Any] = {"candidates": len(is_ghost), **share("ghosts", is_ghost)}
    figures["efficiency"] = [
        {"p_min": low / 1000, "p_max": high / 1000, "n": int(here.sum())} | share("efficiency", there[here])
        for low, high, here in binned(true.genuine["p_true"], edges)
    ]
    if min(len(genuine), len(ghosts)) >= ENOUGH:
        figures["chi2"] = measure_cut(found, -chi2_per_ndof(found.rows))
    return figures


def _particles(rows: Rows) -> np.ndarray:
    """Name the particles (n,): no two of an event have the same momentum."""
    return np.rec.fromarrays([np.asarray(rows[name]) for name in ("file", "event", "p_true")])
