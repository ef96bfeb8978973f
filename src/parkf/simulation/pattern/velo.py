"""VELO segments: the hits of one particle, as a search along a line would collect them."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from parkf.detector.geometry import VELO_PLANES
from parkf.tables import VELO_SLOTS

Z_REFERENCE = 770.0
"""mm; just behind the last module. Segments are given as straight lines at this z."""

_GROUP_SPACING = 1e3
"""mm; far more than a module's size, so that a nearest hit is one of the same module and event."""

HIT_ERROR = 0.0125
"""mm; of a hit's x and y, as the fit takes it."""

SCATTERING = (1e-8, 7e-6)
"""rad²; what a module adds to the variance of a slope, alone and times tx² + ty², whatever the momentum."""

_WIDE_SLOPE = 1.0  # rad; no VELO track is as steep


@dataclass(frozen=True)
class VeloSegments:
    """VELO segments of some events, sorted by event and particle.

    Attributes
    ----------
    event, particle : (n,) int
        The particle whose hits were followed.
    hits : (n, 26) int
        Rows of the hit table, ascending z, -1 behind the last.
    lines : (n, 4) float64
        (x, y, tx, ty) at `Z_REFERENCE`, in mm and rad.
    """

    event: np.ndarray
    particle: np.ndarray
    hits: np.ndarray
    lines: np.ndarray


def find_velo_segments(hits: dict[str, np.ndarray], fewest: int) -> VeloSegments:
    """Collect the VELO hits of every particle that has at least `fewest`.

    At each of the particle's modules the hit nearest to the line through the segment's neighbouring hits is
    taken, whoever it belongs to.

    Parameters
    ----------
    hits : dict of (m,) arrays
        Columns of `parkf.tables.HITS`, any detectors, any number of events.
    fewest : int
        At least 3.
    """
    rows = np.flatnonzero(hits["plane"] < VELO_PLANES.stop)
    module = hits["event"][rows].astype(np.int64) * len(VELO_PLANES) + hits["plane"][rows]
    module -= module.min(initial=0)
    points = np.stack([hits["x"][rows], hits["y"][rows], _GROUP_SPACING * module], axis=1)
    z = hits["z"][rows]

    own = np.flatnonzero(hits["particle"][rows] >= 0)
    event, particle = hits["event"][rows[own]], hits["particle"][rows[own]]
    order = np.lexsort((z[own], module[own], particle, event))
    own, event, particle = own[order], event[order], particle[order]
    # Where sensors of a module overlap, the first hit will do.
    new = (
        (np.diff(module[own], prepend=-1) != 0)
        | (np.diff(event, prepend=-1) != 0)
        | (np.diff(particle, prepend=-1) != 0)
    )
    own, event, particle = own[new], event[new], particle[new]
    first = np.flatnonzero(np.diff(event, prepend=-1) | np.diff(particle, prepend=-1))
    end = np.append(first[1:], len(own))
    long_enough = end - first >= fewest
    first, end = first[long_enough], end[long_enough]
    n_segments = len(first)
    if n_segments == 0:
        return VeloSegments(event[:0], particle[:0], np.zeros((0, VELO_SLOTS), int), np.zeros((0, 4)))
    # The slots hold the hits nearest to the magnet when there are more.
    first = np.maximum(first, end - VELO_SLOTS)
    count = end - first

    slot = np.arange(VELO_SLOTS)
    used = slot < count[:, None]
    collected = own[np.where(used, first[:, None] + slot, first[:, None])]
    before = np.where(slot == 0, 1, np.where(slot == count[:, None] - 1, count[:, None] - 3, slot - 1))
    after = np.where(slot == 0, 2, np.where(slot == count[:, None] - 1, count[:, None] - 2, slot + 1))
    before, after = np.where(used, before, 0), np.where(used, after, 1)
    a, b = np.take_along_axis(collected, before, 1), np.take_along_axis(collected, after, 1)
    share = (z[collected] - z[a]) / (z[b] - z[a])
    expected = points[collected]
    expected[..., :2] = points[a, :2] + share[..., None] * (points[b, :2] - points[a, :2])
    _, nearest = cKDTree(points).query(expected[used])
    collected[used] = nearest

    lines = fit_lines(points[collected], z[collected], count)
    return VeloSegments(event[first], particle[first], np.where(used, rows[collected], -1), lines)


def fit_lines(points: np.ndarray, z: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Straight lines at `Z_REFERENCE` through hits, filtered from the first to the last as in the trigger.

    x and y are apart, and a module scatters by the same angle, whatever the momentum (Allen,
    ``VeloKalmanFilter``).

    Parameters
    ----------
    points : (n, slots, 2 or more) float64
        x and y in mm, in ascending z.
    z : (n, slots) float64
        mm.
    count : (n,) int
        How many slots hold hits, 2 at least.

    Returns
    -------
    (n, 4) float64
        x, y, tx, ty in mm and rad.
    """
    if not len(z):
        return np.zeros((0, 4))
    hits = points[..., :2]
    at, rows = z[:, 0], np.arange(len(z))
    x, variance = hits[:, 0], HIT_ERROR**2
    slope = (hits[rows, count - 1] - x) / (z[rows, count - 1] - at)[:, None]
    constant, per_slope = SCATTERING
    noise = constant + per_slope * (slope**2).sum(1)
    # Both projections have one covariance: of place, of both, and of slope.
    xx, xt, tt = np.full(len(z), variance), np.zeros(len(z)), np.full(len(z), _WIDE_SLOPE**2)
    for slot in range(1, z.shape[1]):
        here = slot < count
        dz = np.where(here, z[:, slot] - at, 0.0)
        scattered = tt + noise
        predicted, mixed = xx + dz * (2 * xt + dz * scattered), xt + dz * scattered
        weight = np.where(here, 1.0 / (predicted + variance), 0.0)
        off = np.where(here[:, None], hits[:, slot] - x - dz[:, None] * slope, 0.0)
        x = x + dz[:, None] * slope + (predicted * weight)[:, None] * off
        slope = slope + (mixed * weight)[:, None] * off
        xx = np.where(here, predicted * (1.0 - predicted * weight), xx)
        tt = np.where(here, scattered - mixed**2 * weight, tt)
        xt = np.where(here, mixed * (1.0 - predicted * weight), xt)
        at = at + dz
    return np.concatenate([x + slope * (Z_REFERENCE - at)[:, None], slope], axis=1)
