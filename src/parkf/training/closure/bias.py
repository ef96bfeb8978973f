"""Core of relative differences of q/p: centre and width by momentum."""

import numpy as np

from parkf.training.rows import F64

# Edges of p, MeV.
EDGES = np.geomspace(1300.0, 130e3, 17)
# Number of cells of the histograms, and the largest absolute value in them.
CELLS, REACH = 4000, 0.1
# Number of widths from the centre at which the weight of a value is halved.
FAR = 2.0
# Fewest tracks of a bin of momentum: fewer do not determine a centre.
FEWEST_OF_BIN = 100


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
        enough = self._counts.sum(axis=1) >= FEWEST_OF_BIN
        counts = self._counts[enough]
        low, centre, high = (_quantile(counts, q) for q in (0.1587, 0.5, 0.8413))
        width = np.maximum((high - low) / 2, REACH / CELLS)
        values = (2 * (np.arange(CELLS) + 0.5) / CELLS - 1) * REACH
        for _ in range(30):
            inside = counts * (np.abs(values - centre[:, None]) < 2 * width[:, None])
            centre = inside @ values / inside.sum(axis=1)
        at = np.log(p)
        return np.interp(at, middles[enough], centre), np.interp(at, middles[enough], width)

    def weights(self, p: F64, values: F64) -> F64:
        """Weights (n,) of values at momenta (n,) in MeV: 1/width², and less far from the core."""
        centre, width = self.core(p)
        return np.asarray(1 / width**2 / (1 + ((values - centre) / (FAR * width)) ** 2))


def _quantile(counts: F64, q: float) -> F64:
    share = np.cumsum(counts, axis=1) / counts.sum(axis=1, keepdims=True)
    return np.asarray((2 * ((share < q).sum(axis=1) + 0.5) / CELLS - 1) * REACH)
