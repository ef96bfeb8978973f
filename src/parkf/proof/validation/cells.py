"""The figures of a fit in cells of direction, charge and momentum, to show what averages hide."""

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise, product
from operator import or_
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from parkf.fit.sample import momentum_residual, pulls
from parkf.io.track_columns import Rows
from parkf.proof.validation.core import fit_core
from parkf.proof.validation.figures import ENOUGH

ETA_EDGES = (2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0)
# Eighths of the turn, the first around φ = 0: the horizontal and the vertical plane are bins' centres.
PHI_EDGES = tuple(float(phi) for phi in np.pi / 8 * np.arange(-1, 16, 2))
MOMENTUM_EDGES = (3.0, 5.0, 10.0, 20.0, 50.0, 100.0)  # GeV
# The bend lies in the horizontal plane, so that φ, −φ, π − φ and π + φ are equivalent.
PLANES = {"horizontal": (0, 4), "diagonal": (1, 3, 5, 7), "vertical": (2, 6)}

# A small type, because these arrays are as long as the sample.
I16 = npt.NDArray[np.int16]


class _Axis(NamedTuple):
    """Number of each track's bin, (n,), −1 outside all bins, and the name of each bin in the result."""

    number: I16
    names: Sequence[dict[str, Any]]


def cells(rows: Rows) -> list[dict[str, Any]]:
    """Measure good genuine tracks by true pseudorapidity, azimuth, charge and momentum.

    Of the 6 × 8 × 2 × 5 cells, those with 50 tracks are ``{eta_min, eta_max, phi_min, phi_max, charge, p_min,
    p_max, n, bias, pull_width, tx_mean, ty_mean}`` (rad; GeV) with ``<name>_error`` of the last four:
    ``bias`` is the mean of the core of δp/p, ``pull_width`` the core width of the q/p pull, the means are
    those of the cores of the pulls of tx and ty.
    """
    phi = _Axis(_eighth(rows), _edges("phi", PHI_EDGES))
    positive = (np.asarray(rows["true_qop"]) > 0).astype(np.int16)
    return _measured(rows, phi, _Axis(positive, [{"charge": -1}, {"charge": 1}]))


def directions(rows: Rows) -> list[dict[str, Any]]:
    """Measure a fit with equivalent tracks combined: both charges, and all φ of one plane.

    In a field that is symmetric left to right and up to down, tracks differ only by η, the angle to the plane
    of the bend, and momentum. Cells ``{eta_min, eta_max, plane, p_min, p_max, n, …}`` have the figures of
    :func:`cells` and four to eight times as many tracks; ``plane`` is ``horizontal``, ``diagonal`` or
    ``vertical``.
    """
    number = np.empty(len(PHI_EDGES) - 1, np.int16)
    for i, eighths in enumerate(PLANES.values()):
        number[list(eighths)] = i
    return _measured(rows, _Axis(number[_eighth(rows)], [{"plane": name} for name in PLANES]))


def _slopes(rows: Rows) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    return np.asarray(rows["true_tx"], np.float64), np.asarray(rows["true_ty"], np.float64)


def _eighth(rows: Rows) -> I16:
    tx, ty = _slopes(rows)
    turn = np.mod(np.arctan2(ty, tx) - PHI_EDGES[0], 2 * np.pi)
    # Rounding may lead to the whole turn.
    return np.minimum((turn / (np.pi / 4)).astype(np.int16), len(PHI_EDGES) - 2)


def _axis(name: str, values: npt.NDArray[np.float64], edges: Sequence[float]) -> _Axis:
    number = np.searchsorted(edges, values, side="right") - 1
    return _Axis(np.where(number < len(edges) - 1, number, -1).astype(np.int16), _edges(name, edges))


def _edges(name: str, edges: Sequence[float]) -> list[dict[str, Any]]:
    return [{f"{name}_min": low, f"{name}_max": high} for low, high in pairwise(edges)]


def _measured(rows: Rows, *others: _Axis) -> list[dict[str, Any]]:
    """Measure the tracks of each cell that η, the other axes and momentum span."""
    with np.errstate(divide="ignore"):
        eta = _axis("eta", np.arcsinh(1 / np.hypot(*_slopes(rows))), ETA_EDGES)
    axes = (eta, *others, _axis("p", 1e-3 * np.asarray(rows["p_true"], np.float64), MOMENTUM_EDGES))
    number = np.zeros(len(rows), np.int16)
    for axis in axes:
        number = number * np.int16(len(axis.names)) + axis.number
    number[np.minimum.reduce([axis.number for axis in axes]) < 0] = -1
    names = [reduce(or_, parts) for parts in product(*(axis.names for axis in axes))]
    order = np.argsort(number, kind="stable").astype(np.int32)
    ends = np.searchsorted(number[order], np.arange(len(names) + 1))
    residual = momentum_residual(rows)
    pull = {name: pulls(rows, name, finite_only=False) for name in ("qop", "tx", "ty")}
    entries = []
    for name, (begin, end) in zip(names, pairwise(ends), strict=True):
        inside = order[begin:end]
        inside = inside[np.logical_and.reduce([np.isfinite(values[inside]) for values in pull.values()])]
        if len(inside) >= ENOUGH:
            figures = fit_core(residual[inside]).mean_as("bias")
            figures |= fit_core(pull["qop"][inside]).width_as("pull_width")
            figures |= fit_core(pull["tx"][inside]).mean_as("tx_mean")
            figures |= fit_core(pull["ty"][inside]).mean_as("ty_mean")
            entries.append({**name, "n": len(inside), **figures})
    return entries
