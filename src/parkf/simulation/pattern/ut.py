"""UT hits for a matched pair: the set of strips that lies best on a line bent by one scattering angle."""

import numpy as np

from parkf.detector.geometry import UT_PLANES, Geometry
from parkf.simulation.detector_response import ut_row
from parkf.simulation.pattern.layer_search import LayerSearch
from parkf.simulation.pattern.magnet import MagnetModel
from parkf.simulation.pattern.velo import Z_REFERENCE
from parkf.tables import UT_LAYERS

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
"""MeV; times 1/p and the way from the set's first hit, the width of a hit's distance from the line:
the layers scatter by 1.2, and not all of the deflection took place at the pivot."""

MEASUREMENT = 0.15
"""mm; width of that distance from the errors of both hits, and of the direction between them."""

FEWEST = 3
"""Layers, as the trigger asks for: two strips near the expected position may well be noise."""


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
    """UT hits of each candidate.

    Parameters
    ----------
    hits : dict of (m,) arrays
        Columns of `parkf.tables.HITS`, any detectors.
    event : (n,) int
        Event of each candidate.
    velo : (n, 4) float64
        VELO lines (x, y, tx, ty).
    h : (n,) float64
        polarity · q/p in 1/MeV.
    geometry, magnet
        Give the layers and the bending up to them.
    window : float
        Largest distance of a hit from the line, in widths.

    Returns
    -------
    (n, 4) int
        Rows of `hits`, -1 where a layer has none.
    """
    rows = np.flatnonzero((hits["plane"] >= UT_PLANES.start) & (hits["plane"] < UT_PLANES.stop))
    layer = (hits["plane"][rows] - UT_PLANES.start).astype(np.int64)
    first_event = hits["event"].min(initial=0)
    strips = _Strips(hits, rows, layer, int(first_event))

    z = geometry.planes()[UT_PLANES, 0]
    x = velo[:, :1] + velo[:, 2:3] * (z - Z_REFERENCE) + magnet.x_shift_at_ut(velo, h)
    y = velo[:, 1:2] + velo[:, 3:4] * (z - Z_REFERENCE)
    # From here on x is where the strip through the track's point crosses y = 0.
    x -= y * np.array([geometry.strip_slope(plane) for plane in UT_PLANES])
    width = np.hypot(SCATTERING * np.abs(h), SMALLEST_DEFLECTION)

    every = np.arange(UT_LAYERS)
    event = (event - first_event)[:, None]
    deflections, tolerances = [], []
    for anchor in ANCHOR_LAYERS:
        near = strips.around(
            event[:, 0], np.full(len(event), anchor), x[:, anchor], y[:, anchor], ANCHORS_PER_LAYER
        )
        deflections.append(np.where(np.isfinite(near[1]), near[1], 0.0) / (z[anchor] - Z_PIVOT))
        spread = np.hypot(MEASUREMENT, SCATTERING_IN_LAYER * h[:, None] * (z - z[anchor]))
        tolerances.append(np.repeat(window * spread[:, None], near[1].shape[1], axis=1))
    deflection = np.concatenate(deflections, axis=1)
    tolerance = np.concatenate(tolerances, axis=1)
    tried = np.abs(deflection) < DEFLECTION_MAX * width[:, None]
    deflection = np.where(tried, deflection, 0.0)

    x_tried = x[:, None, :] + deflection[..., None] * (z - Z_PIVOT)
    found, distance = strips.nearest(event[..., None], every, x_tried, y[:, None, :])
    accepted = np.abs(distance) < tolerance
    missed = np.where(accepted, (distance / tolerance) ** 2, 1.0).sum(-1)
    score = missed + (deflection / (DEFLECTION_MAX * width[:, None])) ** 2
    score[~tried | (accepted.sum(-1) < FEWEST)] = np.inf
    best = np.argmin(score, axis=1)
    pick = np.arange(len(best)), best
    good = accepted[pick] & np.isfinite(score[pick])[:, None]
    return np.where(good, rows[found[pick]] if len(rows) else -1, -1)


class _Strips:
    """Nearest UT hits in the rows of strips that a track may have crossed."""

    def __init__(self, hits: dict[str, np.ndarray], rows: np.ndarray, layer: np.ndarray, first_event: int):
        self._search = LayerSearch(
            _group(hits["event"][rows] - first_event, layer, ut_row(hits["y"][rows])), hits["x"][rows]
        )

    def around(
        self, event: np.ndarray, layer: np.ndarray, x: np.ndarray, y: np.ndarray, count: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Up to `count` hits around x in each row that y may be in; as `LayerSearch.around`."""
        below, above = ut_row(y - ROW_TOLERANCE), ut_row(y + ROW_TOLERANCE)
        hits, distance = self._search.around(_group(event, layer, below), x, count)
        more_hits, more_distance = self._search.around(_group(event, layer, above), x, count)
        more_distance = np.where((above > below)[..., None], more_distance, np.inf)
        return np.concatenate([hits, more_hits], -1), np.concatenate([distance, more_distance], -1)

    def nearest(
        self, event: np.ndarray, layer: np.ndarray, x: np.ndarray, y: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Nearest hit and its distance, infinite where there is none."""
        hits, distance = self.around(event, layer, x, y, 2)
        best = np.argmin(np.abs(distance), axis=-1)[..., None]
        return np.take_along_axis(hits, best, -1)[..., 0], np.take_along_axis(distance, best, -1)[..., 0]


def _group(event: np.ndarray, layer: np.ndarray, row: np.ndarray) -> np.ndarray:
    return (event.astype(np.int64) * UT_LAYERS + layer) * _ROWS + np.clip(row + _ROWS // 2, 0, _ROWS - 1)
