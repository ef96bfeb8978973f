"""VELO segments: found from hits alone, as in the trigger, or collected along the line of one particle."""

from dataclasses import dataclass

import numpy as np

import parkf._pattern as _pattern
from parkf.detector.geometry import VELO_PLANES, Geometry
from parkf.io.events import Columns, particle_key
from parkf.io.tables import VELO_SLOTS
from parkf.simulation.groups import best_of_each, ragged

FEWEST_HITS = 3  # of a segment
Z_REFERENCE = 770.0  # mm, just behind the last module; segments are straight lines at this z
HIT_ERROR = 0.0125  # mm; error of a hit's x and y in the fit
# rad²; variance that a module adds to a slope at any momentum: a constant, and a factor of tx² + ty².
SCATTERING = (1e-8, 7e-6)
_WIDE_SLOPE = 1.0  # rad; no VELO track is as steep
_GROUP_SPACING = 1e3  # mm between the modules on a sorted axis; far more than a module's size
_MARGIN = 1e-6  # mm; more than rounding can move a hit on that axis


@dataclass(frozen=True)
class VeloSegments:
    """VELO segments of some events, sorted by event."""

    event: np.ndarray  # (n,)
    hits: np.ndarray  # (n, 26) rows of the hit table in ascending z, -1 behind the last hit
    lines: np.ndarray  # (n, 4): x, y in mm and tx, ty at Z_REFERENCE


def search_velo(hits: Columns, geometry: Geometry) -> VeloSegments:
    """Find segments that point forward, from hits alone; src/kernel/pattern holds the search.

    Hits are columns (m,) of `parkf.io.tables.HITS`, sorted by event and plane, each hit once.
    """
    beam = np.array([geometry.beam.x, geometry.beam.y])
    rows = _pattern.velo_segments(
        *columns_of_search(hits),
        modules=len(VELO_PLANES),
        fewest=FEWEST_HITS,
        slots=VELO_SLOTS,
        beam_x=beam[0],
        beam_y=beam[1],
        azimuth=0.05,  # rad; how far a segment may turn about the beam in a pair of modules
        displaced=0.5,  # mm; over the distance to the beam, added to that angle
        steepest=1.0,  # largest slope in x and y
        kink=0.005,  # rad; a hit may lie this far off, times the distance to the next
        offset=0.1,  # mm; added to that distance
        chi2=20.0,  # largest χ² of a line through three hits (2 terms)
        error=HIT_ERROR,
    )
    points = _points(hits)
    first, last = points[rows[:, 0]], points[rows[np.arange(len(rows)), (rows >= 0).sum(1) - 1]]
    # Segments that approach the beam with growing z point backward, away from the magnet.
    rows = rows[((first - beam) * (last - first)).sum(1) > 0]
    return VeloSegments(hits["event"][rows[:, 0]], rows, lines_of(hits, rows))


def columns_of_search(hits: Columns) -> tuple[np.ndarray, ...]:
    """Return the first row of each event, planes, and positions, in the types that the C++ searches need."""
    first = np.flatnonzero(np.diff(hits["event"], prepend=-1))
    return (
        first.astype(np.int64),
        np.ascontiguousarray(hits["plane"], np.int32),
        *(np.ascontiguousarray(hits[name], np.float64) for name in ("x", "y", "z", "dxdy")),
    )


def find_velo_segments(hits: Columns) -> VeloSegments:
    """Collect the VELO hits of every particle that has enough of them, sorted by event and particle.

    In each module of the particle, the hit nearest to the line through two neighbouring hits of the segment
    is taken, no matter which particle made it. Hits are columns (m,) of `parkf.io.tables.HITS`, of any
    detectors and events.
    """
    rows = np.flatnonzero(hits["plane"] < VELO_PLANES.stop)
    module = hits["event"][rows].astype(np.int64) * len(VELO_PLANES) + hits["plane"][rows]
    module -= module.min(initial=0)
    points, z = _points(hits)[rows], hits["z"][rows]

    own = np.flatnonzero(hits["particle"][rows] >= 0)
    segment = particle_key({name: hits[name][rows[own]] for name in ("event", "particle")})
    order = np.lexsort((module[own], segment))
    own, segment = own[order], segment[order]
    # Where sensors of a module overlap, a particle may have two hits; use the first.
    new = (np.diff(segment, prepend=-1) != 0) | (np.diff(module[own], prepend=-1) != 0)
    own, segment = best_of_each(own[new], np.cumsum(new) - 1, own, z[own]), segment[new]
    first = np.flatnonzero(np.diff(segment, prepend=-1))
    count = np.diff(first, append=len(own))
    long_enough = count >= FEWEST_HITS
    first, count = first[long_enough], count[long_enough]
    # If there are more hits than slots, the slots hold the hits nearest to the magnet.
    first, count = first + np.maximum(count - VELO_SLOTS, 0), np.minimum(count, VELO_SLOTS)

    track, place = ragged(first, first + count)
    slot = place - first[track]
    before = place + np.where(slot == 0, 1, np.where(slot == count[track] - 1, -2, -1))
    after = place + np.where(slot == 0, 2, np.where(slot == count[track] - 1, -1, 1))
    a, b = own[before], own[after]
    way = (z[own[place]] - z[a]) / (z[b] - z[a])
    expected = points[a] + way[:, None] * (points[b] - points[a])
    found = np.full((len(first), VELO_SLOTS), -1)
    found[track, slot] = _nearest_of_module(points, module, expected, own[place])
    lines = fit_lines(points[found], z[found], count)
    return VeloSegments(hits["event"][rows[own[first]]], np.where(found >= 0, rows[found], -1), lines)


def _points(hits: Columns) -> np.ndarray:
    """Return x and y of all hits, (m, 2)."""
    return np.stack([hits["x"], hits["y"]], axis=1)


def _nearest_of_module(
    points: np.ndarray, module: np.ndarray, expected: np.ndarray, own: np.ndarray
) -> np.ndarray:
    """Return rows (n,) of the hits nearest to `expected` (n, 2) in the module of the hits `own` (n,).

    `own` are the particle's own hits. Only hits that are closer to `expected` in x can be nearer; mostly
    there are none.
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
    distance = ((points[hit] - expected[track]) ** 2).sum(1)
    return best_of_each(own, track, hit, np.where(module[hit] == module[own[track]], distance, np.inf))


def lines_of(hits: Columns, rows: np.ndarray) -> np.ndarray:
    """Fit lines (n, 4), by :func:`fit_lines`, to rows (n, slots) of `hits`; -1 behind the last hit."""
    return fit_lines(_points(hits)[rows], hits["z"][rows], (rows >= 0).sum(1))


def fit_lines(points: np.ndarray, z: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Fit straight lines to hits with the trigger's Kalman filter, from the first hit to the last.

    x and y are filtered separately, and a module scatters by the same angle at any momentum (Allen,
    ``VeloKalmanFilter``). Points (n, slots, 2) and z (n, slots) are in mm, in ascending z. The first `count`
    (n,) slots hold hits, at least 2. Return x, y, tx, ty at `Z_REFERENCE`, (n, 4), in mm and rad.
    """
    if not len(z):
        return np.zeros((0, 4))
    # Sort segments by their number of hits, largest first. Segments with a hit in a given slot are then
    # contiguous.
    order = np.argsort(-count, kind="stable")
    points, z, count = points[order], z[order], count[order]
    at, rows = z[:, 0].copy(), np.arange(len(z))
    x, variance = points[:, 0].copy(), HIT_ERROR**2
    slope = (points[rows, count - 1] - x) / (z[rows, count - 1] - at)[:, None]
    constant, per_slope = SCATTERING
    noise = constant + per_slope * (slope**2).sum(1)
    # Both projections have the same covariance. Its elements are xx, xt and tt, of position x and slope t.
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
