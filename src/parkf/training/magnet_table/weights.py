"""How much each ray counts in the fit of the magnet table.

With equal weights, least squares describe best the region where most rays are. A per cent of the tracks, at
the end of the momentum range or far from the line to their origin, would then have residuals several times
larger than the others.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parkf.training.magnet_table.form import F64
from parkf.training.magnet_table.rays import SOFTEST, Rays, in_corner, momentum_density

# Rays that end beyond the SciFi's edge only serve to constrain the polynomials of border bins. At full weight
# they would make the tails inside several times wider.
EDGE = (3010.0, 2510.0)  # mm
EDGE_WEIGHT = 4e-4
# Weight of rays that begin outside the acceptance, or are softer than any fitted track.
OUTSIDE_WEIGHT = 0.03
# The polynomials are least accurate where their range ends, at f = 1: weight that is added there, and the
# power of f with which it rises.
END_WEIGHT, END_ORDER = 1.0, 4
# The parabolas of neighbouring bins do not join continuously, and miss most where the field map has kinks,
# above all at y = 0. Stiff tracks stay there. SEAM_WEIGHT is added to rays whose offset from the bin's centre
# in y is above SEAM bins and whose f is below STIFF.
SEAM_WEIGHT, SEAM, STIFF = 1.0, 0.4, 0.2
# Quantile of the first fit's residuals, among rays of similar momentum, beyond which a ray is in the tail.
TAIL = 0.98
# Power with which the weight of a ray falls beyond this quantile, since no table of this form describes it.
FALL = 3
# Number of momentum slices, with equal numbers of rays.
SLICES = 24


@dataclass(frozen=True)
class Weights:
    """Weights `values` (n,) of the squared residuals of all rays, in units of f.

    The rays that the table has to describe are `inner` (n,): inside the acceptance and the SciFi, not too
    soft.
    """

    inner: NDArray[np.bool_]
    values: F64


def first_weights(rays: Rays, z_in: float, f: F64, offsets: F64) -> Weights:
    """Weights by where a ray begins, at z_in in mm, and how stiff it is.

    `f` (n,) is h·p_min; `offsets` (n, 2) are from the centre of the nearest bin, in bins.
    """
    within = np.all(np.abs(rays.end[:, :2]) < EDGE, axis=1)
    wanted = (np.abs(rays.qop) < 1 / SOFTEST) & ~in_corner(rays.start[:, :2], z_in)
    values = 1 / momentum_density(rays.qop)
    values *= 1 + SEAM_WEIGHT * (offsets[:, 1] > SEAM) / (1 + (f / STIFF) ** 2)
    values *= np.where(within, np.where(wanted, 1.0, OUTSIDE_WEIGHT), EDGE_WEIGHT)
    return Weights(within & wanted, values / values.mean())


def second_weights(first: Weights, f: F64, residual: F64) -> F64:
    """Weights (n,) for the tail: they rise with the residual up to the tail's beginning, and fall beyond it.

    `f` (n,) is h·p_min, `residual` (n,) how far off the first fit is.
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
