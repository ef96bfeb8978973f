"""How much each ray counts in the fit of the magnet table.

Least squares that treat all rays alike serve the many in the middle; a per cent of the tracks, at the end of
the momentum range or far from the line to their origin, would be several times farther off than the others.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parkf.training.magnet_table.form import F64
from parkf.training.magnet_table.rays import SOFTEST, Rays, in_corner, momentum_density

# Rays that end beyond the SciFi's edge only hold the polynomials of border bins in place. At full weight they
# would pull the tails inside several times wider.
EDGE = (3010.0, 2510.0)  # mm
EDGE_WEIGHT = 4e-4
# The same of rays that begin outside the acceptance, or are softer than what is fitted.
OUTSIDE_WEIGHT = 0.03
# The polynomials are farthest off where they end, at f = 1: what is added there, and how steeply it falls.
END_WEIGHT, END_ORDER = 1.0, 4
# The parabolas of neighbouring bins do not meet, and where the field map has its kinks, at y = 0 before all,
# they miss most. Stiff tracks stay there: what is added from this offset (in bins, in y) on, up to which f.
SEAM_WEIGHT, SEAM, STIFF = 1.0, 0.4, 0.2
# In the tail of the first fit: beyond the residual that this share of rays of like momentum stay below.
TAIL = 0.98
# How steeply a ray in the tail loses its weight: no table of this form describes it.
FALL = 3
# Slices of like momentum, of equal numbers of rays.
SLICES = 24


@dataclass(frozen=True)
class Weights:
    """What the squares of residuals, in units of f, are multiplied with.

    Attributes
    ----------
    inner : (n,) bool
        Rays that the table is there for.
    values : (n,) float64
        Of all rays.
    """

    inner: NDArray[np.bool_]
    values: F64


def first_weights(rays: Rays, z_in: float, f: F64, offsets: F64) -> Weights:
    """Weights by where a ray is and how stiff.

    Parameters
    ----------
    rays : Rays
        n rays.
    z_in : float
        Where they begin, in mm.
    f : (n,) float64
        h·p_min.
    offsets : (n, 2) float64
        From the centre of the nearest bin, in bins.
    """
    within = np.all(np.abs(rays.end[:, :2]) < EDGE, axis=1)
    wanted = (np.abs(rays.qop) < 1 / SOFTEST) & ~in_corner(rays.start[:, :2], z_in)
    values = 1 / momentum_density(rays.qop)
    values *= 1 + SEAM_WEIGHT * (offsets[:, 1] > SEAM) / (1 + (f / STIFF) ** 2)
    values *= np.where(within, np.where(wanted, 1.0, OUTSIDE_WEIGHT), EDGE_WEIGHT)
    return Weights(within & wanted, values / values.mean())


def second_weights(first: Weights, f: F64, residual: F64) -> F64:
    """Weights (n,) for the tail: the nearer a ray came to it, the more, and beyond it ever less.

    Parameters
    ----------
    first : Weights
        Of the first fit.
    f, residual : (n,) float64
        h·p_min, and how far off the first fit is.
    """
    values = first.values.copy()
    size, fraction = np.abs(residual[first.inner]), np.abs(f[first.inner])
    edges = np.quantile(fraction, np.linspace(0, 1, SLICES + 1))
    middles = 0.5 * (edges[1:] + edges[:-1])
    slice_ = np.clip(np.searchsorted(edges, fraction, "right") - 1, 0, SLICES - 1)
    tails = [np.quantile(size[slice_ == n] / fraction[slice_ == n], TAIL) for n in range(SLICES)]
    place = size / (fraction * np.interp(fraction, middles, tails))
    factor = (1 + np.minimum(place, 1) ** 2) / np.maximum(place, 1) ** FALL
    mean = np.bincount(slice_, factor) / np.bincount(slice_)
    values[first.inner] *= factor / mean[slice_]
    values *= 1 + END_WEIGHT * f**END_ORDER
    return values
