"""Loss of momentum in each VELO module, from fits of tracks that crossed different numbers of modules."""

import numpy as np

from parkf.training.closure.bias import EDGES, Widths
from parkf.training.rows import F64

# Smallest pseudorapidity of tracks that count.
LEAST_ETA = 3.0
# Edges of bins of pseudorapidity.
ETA = (2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0)


def velo_loss(slopes: F64, p: F64, difference: F64, modules: F64) -> float:
    """Determine how much more than in a set's fits is lost in each module, MeV.

    A track that crossed more modules than others of its direction and momentum lost more momentum, so its
    fitted p is too small by the additional loss. `slopes` (n, 2) are tx, ty at production, `p` (n,) is in
    MeV, `difference` (n,) is the fitted q/p over that of the full fit, less one, or NaN, and `modules` (n,)
    is the number of modules. The loss is the slope of a line whose offset is free in each bin of
    pseudorapidity and momentum. Large differences have small weights. Steep tracks do not count: for them,
    the number of modules depends on z of the vertex, and so does the misfit of the magnet table.
    """
    eta = np.arcsinh(1 / np.hypot(*slopes.T))
    good = np.isfinite(difference) & (eta > LEAST_ETA)
    eta, p, difference, modules = eta[good], p[good], difference[good], modules[good]
    widths = Widths()
    widths.add(p, difference)
    weight = widths.weights(p, difference)
    cell = np.searchsorted(ETA, eta) * (len(EDGES) + 1) + np.searchsorted(EDGES, p)

    def from_mean(values: F64) -> F64:
        sums, weights = np.bincount(cell, weight * values), np.bincount(cell, weight)
        return values - (sums / np.where(weights > 0, weights, 1))[cell]

    crossed = from_mean(modules / p)
    return float(weight * crossed @ from_mean(difference)) / float(weight @ crossed**2)
