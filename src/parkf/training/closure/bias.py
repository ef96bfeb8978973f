"""Core of relative differences of q/p: centre and width by momentum, bias by direction and momentum."""

from collections.abc import Iterator
from itertools import pairwise, product
from typing import Any

import numpy as np

from parkf.io.errors import ParkfError
from parkf.training.rows import F64

# Edges of p, MeV.
EDGES = np.geomspace(1300.0, 130e3, 17)
# Number of cells of the histograms, and the largest absolute value in them.
CELLS, REACH = 4000, 0.1
# Edges of the cells: pseudorapidity, and p in GeV. Fewest tracks of a cell.
ETA = (2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0)
PHI_CELLS = 16
MOMENTA = (1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0)  # GeV
FEWEST_OF_CELL = 20
# Fewest tracks of a bin of momentum: fewer do not determine a centre.
FEWEST_OF_BIN = 100
# Error of the mean of a normal distribution if it is truncated at two widths, over the error if it is not.
_LESS_KNOWN = 1.164


class Widths:
    """Histograms of values by momentum."""

    def __init__(self) -> None:
        self._counts = np.zeros((len(EDGES) - 1, CELLS))

    def add(self, p: F64, values: F64) -> None:
        """Add values (n,) at momenta (n,) in MeV; those beyond the reach count at its end."""
        cell = np.clip(((values / REACH + 1) * CELLS / 2).astype(np.int64), 0, CELLS - 1)
        bins = np.clip(np.searchsorted(EDGES, p) - 1, 0, len(EDGES) - 2)
        np.add.at(self._counts, (bins, cell), 1)

    def core(self, p: F64) -> tuple[F64, F64]:
        """Mean of the core and half width of the central 68 % (n,) at momenta (n,) in MeV.

        Raise ParkfError if no bin of momentum has enough values.
        """
        middles = np.log(EDGES[1:] * EDGES[:-1]) / 2
        enough = (in_bins := self._counts.sum(axis=1)) >= FEWEST_OF_BIN
        counts = self._counts[enough]
        if not enough.any():
            raise ParkfError(
                f"closure: {in_bins.sum():.0f} fitted tracks, at most {in_bins.max():.0f} in a bin "
                f"of momentum, expected {FEWEST_OF_BIN} in one bin; raise training.closure.tracks"
            )
        low, centre, high = (_quantile(counts, q) for q in (0.1587, 0.5, 0.8413))
        width = np.maximum((high - low) / 2, REACH / CELLS)
        values = (2 * (np.arange(CELLS) + 0.5) / CELLS - 1) * REACH
        for _ in range(30):
            inside = counts * (np.abs(values - centre[:, None]) < 2 * width[:, None])
            centre = inside @ values / inside.sum(axis=1)
        at = np.log(p)
        return np.interp(at, middles[enough], centre), np.interp(at, middles[enough], width)


def _quantile(counts: F64, q: float) -> F64:
    share = np.cumsum(counts, axis=1) / counts.sum(axis=1, keepdims=True)
    return np.asarray((2 * ((share < q).sum(axis=1) + 0.5) / CELLS - 1) * REACH)


def bias_cells(slopes: F64, p: F64, difference: F64) -> Iterator[dict[str, Any]]:
    """Core mean of relative differences by cell of direction and momentum.

    Yield {eta_min, eta_max, phi_min, phi_max, p_min, p_max (GeV), bias, bias_error, n} of each cell with
    enough tracks, from slopes tx, ty at production (n, 2), p (n,) in MeV, and the fitted q/p over its
    reference, less one (n,).
    """
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
        if end - begin >= FEWEST_OF_CELL:
            keys = ("p_min", "p_max", "eta_min", "eta_max", "phi_min", "phi_max")
            edges = dict(zip(keys, (edge for pair in name for edge in pair), strict=True))
            yield {**edges, **_core(difference[rows[begin:end]])}


def _core(values: F64) -> dict[str, Any]:
    low, centre, high = np.quantile(values, (0.1587, 0.5, 0.8413))
    width = (high - low) / 2
    for _ in range(10):
        centre = values[np.abs(values - centre) <= 2 * width].mean()
    return {
        "bias": float(centre),
        "bias_error": float(_LESS_KNOWN * width / np.sqrt(len(values))),
        "n": len(values),
    }
