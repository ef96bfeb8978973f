"""Bins of a variable, widths of residuals and pulls, and comparisons of two fits, for all views of a fit."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from parkf.fit.sample import pulls
from parkf.io.track_columns import Rows
from parkf.proof.validation.core import central_widths, fit_core, smooth_core

F64 = npt.NDArray[np.float64]

ENOUGH = 50
"""Bins with fewer tracks are left out."""

WORKING_POINT = 0.91
"""Genuine efficiency of the paper's selection (Fig. 6)."""


def binned(
    values: npt.NDArray[Any], edges: Sequence[float], fewest: int = 0
) -> Iterator[tuple[float, float, npt.NDArray[np.bool_]]]:
    """Yield edges of bins with at least `fewest` of the values (n,), and a mask (n,): low ≤ value < high."""
    number = np.digitize(values, edges).astype(np.int8)
    for i, (low, high) in enumerate(pairwise(edges), start=1):
        inside = number == i
        if np.count_nonzero(inside) >= fewest:
            yield low, high, inside


def displacement(rows: Rows) -> F64:
    """Return the closest distance (n,) of the true track from the z axis, mm."""
    x, y, tx, ty = (np.asarray(rows[f"true_{name}"], np.float64) for name in ("x", "y", "tx", "ty"))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.abs(x * ty - y * tx) / np.hypot(tx, ty)


def event_of(rows: Rows) -> npt.NDArray[np.int64]:
    """Return the number of each row's crossing, from 0, (n,)."""
    file, event = (np.asarray(rows[name], np.int64) for name in ("file", "event"))
    return np.unique(file << 32 | event, return_inverse=True)[1]


def momentum_figures(residual: F64) -> dict[str, float]:
    """Measure δp/p (n,): width ``core`` and mean ``bias`` of its core, ``width68``, ``width95``.

    Each has its error.
    """
    core = fit_core(residual)
    figures = {**core.width_as("core"), **core.mean_as("bias")}
    for name, width in central_widths(residual).items():
        figures |= width.named(name)
    return figures


def pull_figures(rows: Rows, component: str) -> dict[str, float]:
    """Measure a pull: ``width`` and ``mean`` of its core, ``width68``, ``width95``, with errors.

    ``width95_over_width`` is about 1 without tails. Both widths are of the same tracks, as its error knows.
    """
    values = pulls(rows, component)
    core, widths = fit_core(values), central_widths(values)
    widths["width95_over_width"] = widths["width95"].over(core.width_of(values))
    figures = {**core.width_as("width"), **core.mean_as("mean")}
    for name, width in widths.items():
        figures |= width.named(name)
    return figures


def compare_momenta(residual: F64, other: F64, event: npt.NDArray[np.int64], name: str) -> dict[str, float]:
    """Compare δp/p (n,) of a fit and another fit of the same tracks, of events numbered from 0.

    Return ``core_over_<name>``, ``width68_over_<name>``, ``width95_over_<name>`` and ``bias_minus_<name>``,
    with errors that know of the pairs.
    """
    (bias, core), (their_bias, their_core) = smooth_core(residual), smooth_core(other)
    compared = bias.minus(their_bias).named(f"bias_minus_{name}", event)
    compared |= core.over(their_core).named(f"core_over_{name}", event)
    their_widths = central_widths(other)
    for key, width in central_widths(residual).items():
        compared |= width.over(their_widths[key]).named(f"{key}_over_{name}", event)
    return compared


def share(name: str, kept: npt.NDArray[np.bool_]) -> dict[str, float]:
    """Return the fraction of entries (n,) that are kept, and its binomial error: one entry's, or more."""
    mean, count = (float(kept.mean()), len(kept)) if len(kept) else (0.0, 1)
    return {name: mean, f"{name}_error": float(np.sqrt(max(mean * (1 - mean), 1 / count) / count))}
