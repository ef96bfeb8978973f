"""UT hits for a matched pair: the set of strips that lies best on a line bent by one scattering angle."""

import numpy as np

from parkf.detector.geometry import UT_PLANES, Geometry
from parkf.io.planes import UT_LAYERS
from parkf.simulation.groups import best_of_each
from parkf.simulation.pattern.layer_search import LayerSearch
from parkf.simulation.pattern.magnet import MagnetModel
from parkf.simulation.pattern.velo import Z_REFERENCE
from parkf.simulation.response.hits import ut_row

ANCHOR_LAYERS = (0, 3)
"""Each hit near the expected position in one of these layers is tried as the start of a set."""

ANCHORS_PER_LAYER = 6

Z_PIVOT = 1000.0
"""mm; where the material between VELO and UT deflects on average."""

SCATTERING = 5.4
"""MeV; times 1/p, the width of that deflection."""

DEFLECTION_MAX = 4.0
"""Largest deflection tried, in widths."""

SMALLEST_DEFLECTION = 1.5e-4
"""rad; width of the VELO line's own direction error, added in quadrature."""

ROW_TOLERANCE = 3.0
"""mm; how far in y beyond its strip's end a hit is still compatible."""

_ROWS = 32

SCATTERING_IN_LAYER = 2.5
"""MeV; times 1/p and the distance along z from the set's first hit, the width of a hit's distance from the
line: the layers scatter by 1.2, and part of the deflection is not at the pivot."""

MEASUREMENT = 0.15
"""mm; width of that distance from the errors of both hits, and of the direction between them."""

FEWEST = 3
"""Layers, as in the trigger: two strips near the expected position may well be noise."""


def find_ut_hits(
    hits: dict[str, np.ndarray],
    event: np.ndarray,
    velo: np.ndarray,
    h: np.ndarray,
    *,
    geometry: Geometry,
    magnet: MagnetModel,
    window: float,
) -> np.ndarray:
    """UT hits of each candidate: rows (n, 4) of `hits`, -1 where a layer has none.

    Parameters
    ----------
    hits : dict of (m,) arrays
        Columns of `parkf.io.tables.HITS`, any detectors.
    event : (n,) int
        Event of each candidate.
    velo : (n, 4) float64
        VELO lines (x, y, tx, ty).
    h : (n,) float64
        polarity · q/p in 1/MeV.
    geometry, magnet
        The layers, and the bending up to them.
    window : float
        Largest distance of a hit from the line, in widths.
    """
    rows = np.flatnonzero((hits["plane"] >= UT_PLANES.start) & (hits["plane"] < UT_PLANES.stop))
    layer = (hits["plane"][rows] - UT_PLANES.start).astype(np.int64)
    first_event = hits["event"].min(initial=0)
    z = geometry.planes()[UT_PLANES, 0]
    # Sectors lie before and behind their layer: strips are projected from the origin to the layer's z.
    seen = hits["x"][rows] * (z[layer] / hits["z"][rows])
    strips = _Strips(hits, rows, seen.astype(hits["x"].dtype), layer, int(first_event))

    x = velo[:, :1] + velo[:, 2:3] * (z - Z_REFERENCE) + magnet.x_shift_at_ut(velo, h)
    y = velo[:, 1:2] + velo[:, 3:4] * (z - Z_REFERENCE)
    # From here on x is where the strip through the track's point crosses y = 0.
    x -= y * np.array([geometry.strip_slope(plane) for plane in UT_PLANES])
    width = np.hypot(SCATTERING * np.abs(h), SMALLEST_DEFLECTION)

    places = strips.places(event - first_event, y)
    near = [
        _or_none(strips.around(places, anchor, x[:, anchor])) / (z[anchor] - Z_PIVOT)
        for anchor in ANCHOR_LAYERS
    ]
    turns, z_anchor = np.concatenate(near, axis=1), np.repeat(z[list(ANCHOR_LAYERS)], near[0].shape[1])
    track, column = np.nonzero(np.abs(turns) < DEFLECTION_MAX * width[:, None])
    turn, way = turns[track, column], z - z_anchor[column, None]

    x_tried = x[track] + turn[:, None] * (z - Z_PIVOT)
    found, distance = strips.nearest(places, track, x_tried)
    tolerance = window * np.hypot(MEASUREMENT, SCATTERING_IN_LAYER * h[track, None] * way)
    accepted = np.abs(distance) < tolerance
    missed = np.where(accepted, (distance / tolerance) ** 2, 1.0).sum(-1)
    score = missed + (turn / (DEFLECTION_MAX * width[track])) ** 2
    score[accepted.sum(-1) < FEWEST] = np.inf
    best = best_of_each(np.full(len(event), -1), track, np.arange(len(track)), score)
    good = np.flatnonzero((best >= 0) & np.isfinite(score[best]))
    best = best[good]
    taken = np.full((len(event), UT_LAYERS), -1)
    taken[good] = np.where(accepted[best], rows[found[best]], -1)
    return taken


def _or_none(distance: np.ndarray) -> np.ndarray:
    """Where there are fewer hits than `count`, set one of the missing distances to 0: no scattering."""
    missing = np.isinf(distance)
    short = np.flatnonzero(missing.any(1))
    distance[short, np.argmax(missing[short], axis=1)] = 0.0
    return distance


class _Strips:
    """Nearest UT hits in the rows of strips that a track may have crossed."""

    def __init__(
        self,
        hits: dict[str, np.ndarray],
        rows: np.ndarray,
        x: np.ndarray,
        layer: np.ndarray,
        first_event: int,
    ):
        self._search = LayerSearch(
            _group(hits["event"][rows] - first_event, layer, ut_row(hits["y"][rows])), x
        )

    def places(self, event: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows of strips (n, 4) that tracks at y (n, 4) may cross: the lower one, and the upper or -1."""
        below, above = ut_row(y - ROW_TOLERANCE), ut_row(y + ROW_TOLERANCE)
        layer, event = np.arange(UT_LAYERS), event[:, None]
        return _group(event, layer, below), np.where(above > below, _group(event, layer, above), -1)

    def around(self, places: tuple[np.ndarray, np.ndarray], layer: int, x: np.ndarray) -> np.ndarray:
        """Distances (n, count) in mm of hits around x in each row, infinite where there are fewer."""
        below, above = (rows[:, layer] for rows in places)
        _, distance = self._search.around(below, x, ANCHORS_PER_LAYER)
        more = np.full_like(distance, np.inf)
        both = np.flatnonzero(above >= 0)
        _, more[both] = self._search.around(above[both], x[both], ANCHORS_PER_LAYER)
        return np.concatenate([distance, more], axis=1)

    def nearest(
        self, places: tuple[np.ndarray, np.ndarray], track: np.ndarray, x: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Nearest hit and its distance, (m, 4), infinite where there is none; x (m, 4) of the tracks (m,)."""
        below, above = (rows[track] for rows in places)
        hits, distance = self._search.nearest(below, x)
        both = np.nonzero(above >= 0)
        more_hits, more_distance = self._search.nearest(above[both], x[both])
        closer = np.abs(more_distance) < np.abs(distance[both])
        hits[both] = np.where(closer, more_hits, hits[both])
        distance[both] = np.where(closer, more_distance, distance[both])
        return hits, distance


def _group(event: np.ndarray, layer: np.ndarray, row: np.ndarray) -> np.ndarray:
    return (event.astype(np.int64) * UT_LAYERS + layer) * _ROWS + np.clip(row + _ROWS // 2, 0, _ROWS - 1)
