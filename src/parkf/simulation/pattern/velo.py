"""VELO segments: the hits of one particle, as a search along a line would collect them."""

from dataclasses import dataclass

import numpy as np

from parkf.detector.geometry import VELO_PLANES
from parkf.io.events import particle_key
from parkf.io.tables import VELO_SLOTS
from parkf.simulation.groups import best_of_each, ragged

Z_REFERENCE = 770.0
"""mm; just behind the last module. Segments are straight lines at this z."""

_GROUP_SPACING = 1e3
"""mm between the modules on a sorted axis; far more than a module's size."""

_MARGIN = 1e-6
"""mm; more than what rounding moves a hit on that axis."""

HIT_ERROR = 0.0125
"""mm; of a hit's x and y in the fit."""

SCATTERING = (1e-8, 7e-6)
"""rad²; what a module adds to the variance of a slope, alone and times tx² + ty², whatever the momentum."""

_WIDE_SLOPE = 1.0  # rad; no VELO track is as steep


@dataclass(frozen=True)
class VeloSegments:
    """VELO segments of some events, sorted by event and particle: the one whose hits were followed.

    `hits` (n, 26) are rows of the hit table in ascending z, -1 behind the last; `lines` (n, 4) are x, y in
    mm and tx, ty at `Z_REFERENCE`.
    """

    event: np.ndarray
    particle: np.ndarray
    hits: np.ndarray
    lines: np.ndarray


def find_velo_segments(hits: dict[str, np.ndarray], fewest: int) -> VeloSegments:
    """Collect the VELO hits of every particle that has at least `fewest`, which is 3 or more.

    At each of the particle's modules, the hit nearest to the line through the segment's neighbouring hits
    is taken, whichever particle made it. Hits are columns (m,) of `parkf.io.tables.HITS`, any detectors and
    events.
    """
    rows = np.flatnonzero(hits["plane"] < VELO_PLANES.stop)
    module = hits["event"][rows].astype(np.int64) * len(VELO_PLANES) + hits["plane"][rows]
    module -= module.min(initial=0)
    points = np.stack([hits["x"][rows], hits["y"][rows]], axis=1)
    z = hits["z"][rows]

    own = np.flatnonzero(hits["particle"][rows] >= 0)
    segment = particle_key({name: hits[name][rows[own]] for name in ("event", "particle")})
    order = np.lexsort((module[own], segment))
    own, segment = own[order], segment[order]
    # Where sensors of a module overlap, the first hit will do.
    new = (np.diff(segment, prepend=-1) != 0) | (np.diff(module[own], prepend=-1) != 0)
    own, segment = best_of_each(own[new], np.cumsum(new) - 1, own, z[own]), segment[new]
    first = np.flatnonzero(np.diff(segment, prepend=-1))
    count = np.diff(first, append=len(own))
    long_enough = count >= fewest
    first, count = first[long_enough], count[long_enough]
    # The slots hold the hits nearest to the magnet when there are more.
    first, count = first + np.maximum(count - VELO_SLOTS, 0), np.minimum(count, VELO_SLOTS)

    track, place = ragged(first, first + count)
    slot = place - first[track]
    before = place + np.where(slot == 0, 1, np.where(slot == count[track] - 1, -2, -1))
    after = place + np.where(slot == 0, 2, np.where(slot == count[track] - 1, -1, 1))
    a, b = own[before], own[after]
    share = (z[own[place]] - z[a]) / (z[b] - z[a])
    expected = points[a] + share[:, None] * (points[b] - points[a])
    found = np.full((len(first), VELO_SLOTS), -1)
    found[track, slot] = _nearest_of_module(points, module, expected, own[place])
    lines = fit_lines(points[found], z[found], count)
    lead = rows[own[first]]
    return VeloSegments(
        hits["event"][lead], hits["particle"][lead], np.where(found >= 0, rows[found], -1), lines
    )


def _nearest_of_module(
    points: np.ndarray, module: np.ndarray, expected: np.ndarray, own: np.ndarray
) -> np.ndarray:
    """Rows (n,) of the hits nearest to `expected` (n, 2) in the module of the hits `own` (n,).

    A hit nearer than the particle's own one differs less in x than that one is away; mostly there is none.
    """
    key = _GROUP_SPACING * module + points[:, 0]
    order = np.argsort(key)
    key = key[order]
    reach = np.hypot(*(points[own] - expected).T) + _MARGIN
    centre = _GROUP_SPACING * module[own] + expected[:, 0]
    first, end = np.searchsorted(key, centre - reach), np.searchsorted(key, centre + reach, side="right")
    several = np.flatnonzero(end - first > 1)
    track, place = ragged(first[several], end[several])
    track, hit = several[track], order[place]
    distance = np.where(
        module[hit] == module[own[track]], ((points[hit] - expected[track]) ** 2).sum(1), np.inf
    )
    return best_of_each(own, track, hit, distance)


def fit_lines(points: np.ndarray, z: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Straight lines at `Z_REFERENCE` through hits, filtered from the first to the last as in the trigger.

    x and y are separate, and a module scatters by the same angle at any momentum (Allen,
    ``VeloKalmanFilter``). Points (n, slots, 2) and z (n, slots) are in mm in ascending z; `count` (n,)
    slots hold hits, 2 at least. Return x, y, tx, ty, (n, 4), in mm and rad.
    """
    if not len(z):
        return np.zeros((0, 4))
    # Sort by length, longest first, so that the segments with a hit in a given slot are contiguous.
    order = np.argsort(-count, kind="stable")
    points, z, count = points[order], z[order], count[order]
    at, rows = z[:, 0].copy(), np.arange(len(z))
    x, variance = points[:, 0].copy(), HIT_ERROR**2
    slope = (points[rows, count - 1] - x) / (z[rows, count - 1] - at)[:, None]
    constant, per_slope = SCATTERING
    noise = constant + per_slope * (slope**2).sum(1)
    # Both projections have one covariance: elements xx, xt and tt of position and slope.
    xx, xt, tt = np.full(len(z), variance), np.zeros(len(z)), np.full(len(z), _WIDE_SLOPE**2)
    for slot in range(1, count[0]):
        here = slice(np.searchsorted(-count, -slot))
        dz = z[here, slot] - at[here]
        scattered = tt[here] + noise[here]
        predicted = xx[here] + dz * (2 * xt[here] + dz * scattered)
        mixed = xt[here] + dz * scattered
        weight = 1.0 / (predicted + variance)
        moved = x[here] + dz[:, None] * slope[here]
        off = points[here, slot] - moved
        x[here] = moved + (predicted * weight)[:, None] * off
        slope[here] += (mixed * weight)[:, None] * off
        xx[here] = predicted * (1.0 - predicted * weight)
        tt[here] = scattered - mixed**2 * weight
        xt[here] = mixed * (1.0 - predicted * weight)
        at[here] = z[here, slot]
    lines = np.empty((len(z), 4))
    lines[order] = np.concatenate([x + slope * (Z_REFERENCE - at)[:, None], slope], axis=1)
    return lines
