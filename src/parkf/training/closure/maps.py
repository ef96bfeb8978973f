"""Bias of q/p by cell of direction and momentum."""

from collections.abc import Iterator
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]

ETA = (2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0)
PHI_CELLS = 16
MOMENTA = (1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0)  # GeV
FEWEST = 20
_ROUNDS = 10
# Error of the mean of a normal distribution truncated at two widths, over that of the whole distribution.
_LESS_KNOWN = 1.164


def bias_cells(slopes: F64, p: F64, difference: F64) -> list[dict[str, Any]]:
    """Core mean of relative differences by cell.

    Parameters
    ----------
    slopes : (n, 2) float64
        tx, ty at production.
    p : (n,) float64
        MeV.
    difference : (n,) float64
        Fitted q/p over its reference, less one.

    Returns
    -------
    list of dict
        {eta_min, eta_max, phi_min, phi_max, p_min, p_max (GeV), bias, bias_error, n}, of cells with enough
        tracks.
    """
    return list(_cells(slopes, p, difference))


def _cells(slopes: F64, p: F64, difference: F64) -> Iterator[dict[str, Any]]:
    eta = np.searchsorted(ETA, np.arcsinh(1 / np.hypot(*slopes.T)), "right") - 1
    phi_edges = np.linspace(-np.pi, np.pi, PHI_CELLS + 1)
    phi = np.searchsorted(phi_edges[1:-1], np.arctan2(slopes[:, 1], slopes[:, 0]), "right")
    momentum = np.searchsorted(MOMENTA, 1e-3 * p, "right") - 1
    counted = np.isfinite(difference) & (eta >= 0) & (eta < len(ETA) - 1)
    counted &= (momentum >= 0) & (momentum < len(MOMENTA) - 1)
    cell = (momentum * (len(ETA) - 1) + eta) * PHI_CELLS + phi
    rows = np.flatnonzero(counted)
    rows = rows[np.argsort(cell[rows], kind="stable")]
    names = list(product(pairwise(MOMENTA), pairwise(ETA), pairwise(phi_edges.tolist())))
    starts = np.searchsorted(cell[rows], np.arange(len(names) + 1))
    for name, (begin, end) in zip(names, pairwise(starts), strict=True):
        if end - begin >= FEWEST:
            keys = ("p_min", "p_max", "eta_min", "eta_max", "phi_min", "phi_max")
            edges = dict(zip(keys, (edge for pair in name for edge in pair), strict=True))
            yield {**edges, **_core(difference[rows[begin:end]])}


def _core(values: F64) -> dict[str, Any]:
    low, centre, high = np.quantile(values, (0.1587, 0.5, 0.8413))
    width = (high - low) / 2
    for _ in range(_ROUNDS):
        centre = values[np.abs(values - centre) <= 2 * width].mean()
    return {
        "bias": float(centre),
        "bias_error": float(_LESS_KNOWN * width / np.sqrt(len(values))),
        "n": len(values),
    }
