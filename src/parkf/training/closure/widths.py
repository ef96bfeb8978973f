"""Centres and widths of the core of relative differences by momentum, from histograms."""

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]

# Edges of p, MeV.
EDGES = np.geomspace(1300.0, 130e3, 17)
# Number of cells of the histograms, and the largest absolute value in them.
CELLS, REACH = 4000, 0.1
# Half-width of the core's range in units of its width, and the largest number of iterations.
CORE, ROUNDS = 2.0, 30
# Fewest values in a momentum bin that determine a centre.
FEWEST = 100


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
        """Mean of the core and half width of the central 68 % (n,) at momenta (n,) in MeV."""
        middles = np.log(EDGES[1:] * EDGES[:-1]) / 2
        counts = self._counts[enough := self._counts.sum(axis=1) >= FEWEST]
        low, centre, high = (_quantile(counts, q) for q in (0.1587, 0.5, 0.8413))
        width = np.maximum((high - low) / 2, REACH / CELLS)
        values = (2 * (np.arange(CELLS) + 0.5) / CELLS - 1) * REACH
        for _ in range(ROUNDS):
            inside = counts * (np.abs(values - centre[:, None]) < CORE * width[:, None])
            centre = inside @ values / inside.sum(axis=1)
        at = np.log(p)
        return np.interp(at, middles[enough], centre), np.interp(at, middles[enough], width)


def _quantile(counts: F64, q: float) -> F64:
    share = np.cumsum(counts, axis=1) / counts.sum(axis=1, keepdims=True)
    return np.asarray((2 * ((share < q).sum(axis=1) + 0.5) / CELLS - 1) * REACH)
