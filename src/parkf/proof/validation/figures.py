"""Bins of a variable, widths of residuals and pulls, and comparisons of two fits, for all views of a fit."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from parkf.fit.sample import momentum_residual, pulls
from parkf.io.track_columns import Rows
from parkf.proof.validation.core import fit_core, spread

F64 = npt.NDArray[np.float64]

ENOUGH = 50
"""Bins with fewer tracks are left out."""

WORKING_POINT = 0.91
"""Genuine efficiency of the paper's selection (Fig. 6)."""

_GROUPS = 20  # of events in a jackknife; each group is left out once


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


def momentum_figures(rows: Rows) -> dict[str, float]:
    """Measure δp/p: width ``core`` and mean ``bias`` of its core, ``width68``, ``width95``, with errors."""
    residual = momentum_residual(rows)
    core = fit_core(residual)
    return {**core.width_as("core"), **core.mean_as("bias"), **spread(residual)}


def pull_figures(rows: Rows, component: str, prefix: str = "") -> dict[str, float]:
    """Measure a pull: ``width`` and ``mean`` of its core, ``width68``, ``width95``, with errors."""
    values = pulls(rows, component)
    core = fit_core(values)
    return {**core.width_as(f"{prefix}width"), **core.mean_as(f"{prefix}mean"), **spread(values, prefix)}


def share(name: str, kept: npt.NDArray[np.bool_]) -> dict[str, float]:
    """Return the fraction of entries (n,) that are kept, and its binomial error: one entry's, or more."""
    mean, count = (float(kept.mean()), len(kept)) if len(kept) else (0.0, 1)
    return {name: mean, f"{name}_error": float(np.sqrt(max(mean * (1 - mean), 1 / count) / count))}


def core_ratio(rows: Rows, others: Rows) -> tuple[float, float]:
    """Return the ratio of two fits' cores of δp/p, and its standard error.

    Apart from a few tracks, both fits are of the same tracks, with the same scatterings and hits. Their cores
    therefore vary together, and their ratio is known better than either core. The error is from a jackknife,
    in which one group of events after the other is left out.
    """
    return width_ratio(*((momentum_residual(one), np.asarray(one["event"])) for one in (rows, others)))


def width_ratio(
    one: tuple[F64, npt.NDArray[Any]], other: tuple[F64, npt.NDArray[Any]]
) -> tuple[float, float]:
    """Return the ratio of two core widths, and its standard error, from values and events (n,) of each."""
    samples = [(values, events % _GROUPS) for values, events in (one, other)]

    def ratio(without: int | None) -> float:
        above, below = (fit_core(values[group != without]).width for values, group in samples)
        return above / below

    each = np.array([ratio(group) for group in range(_GROUPS)])
    error = np.sqrt((_GROUPS - 1) / _GROUPS * np.square(each - each.mean()).sum())
    return ratio(None), float(error)
