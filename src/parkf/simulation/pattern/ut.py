"""UT hits for a matched pair: the set of strips that best agrees with a line bent by one scattering angle."""

import numpy as np

from parkf.detector.geometry import UT_PLANES, Geometry
from parkf.io.events import Columns
from parkf.io.planes import UT_LAYERS
from parkf.simulation.groups import LayerSearch, best_of_each, nearer
from parkf.simulation.pattern.magnet import MagnetModel
from parkf.simulation.pattern.velo import Z_REFERENCE
from parkf.simulation.response.hits import ut_row

WINDOW = 4.0  # widths; a hit may lie this far from the line through another one
FEWEST = 3  # layers, as in the trigger; two strips near the expected position may well be noise
# In each of ANCHOR_LAYERS, this number of hits near the expected position is tried, each as the start of a
# set.
ANCHOR_LAYERS, ANCHORS_PER_LAYER = (0, 3), 6
Z_PIVOT = 1000.0  # mm; average z of the deflection in the material between VELO and UT
SCATTERING = 5.4  # MeV; times 1/p, the width of this deflection
SMALLEST_DEFLECTION = 1.5e-4  # rad; error of the VELO line's own direction, added in quadrature
DEFLECTION_MAX = 4.0  # largest deflection tried, in widths
# The width of a hit's distance from the line has two terms. SCATTERING_IN_LAYER (MeV) is multiplied by 1/p
# and by the distance along z from the set's first hit. It includes 1.2 MeV of scattering in the layers, and
# deflections away from the pivot. MEASUREMENT (mm) is due to the errors of both hits and of their direction.
SCATTERING_IN_LAYER, MEASUREMENT = 2.5, 0.15
ROW_TOLERANCE = 3.0  # mm; a track may pass a strip's end by this distance in y
_ROWS = 32


def find_ut_hits(
    hits: Columns, event: np.ndarray, velo: np.ndarray, h: np.ndarray, geometry: Geometry, magnet: MagnetModel
) -> np.ndarray:
    """Find the UT hits of each candidate: return rows (n, 4) of `hits`, -1 for a layer without a hit.

    Hits are columns (m,) of `parkf.io.tables.HITS`, of any detectors. Candidates have an event (n,), a VELO
    line x, y, tx, ty (n, 4) in mm and rad, and h = polarity · q/p (n,) in 1/MeV.
    """
    rows = np.flatnonzero((hits["plane"] >= UT_PLANES.start) & (hits["plane"] < UT_PLANES.stop))
    layer = (hits["plane"][rows] - UT_PLANES.start).astype(np.int64)
    first_event = hits["event"].min(initial=0)
    z = geometry.planes()[UT_PLANES, 0]
    # Sectors lie in front of their layer or behind it, so strips are projected from the origin to the layer's
    # z.
    seen = (hits["x"][rows] * (z[layer] / hits["z"][rows])).astype(hits["x"].dtype)
    search = LayerSearch(_group(hits["event"][rows] - first_event, layer, ut_row(hits["y"][rows])), seen)

    x = velo[:, :1] + velo[:, 2:3] * (z - Z_REFERENCE) + magnet.x_shift_at_ut(velo, h)
    y = velo[:, 1:2] + velo[:, 3:4] * (z - Z_REFERENCE)
    # From here on, x is where the strip through the track's point crosses y = 0.
    x -= y * np.array([geometry.strip_slope(plane) for plane in UT_PLANES])
    width = np.hypot(SCATTERING * np.abs(h), SMALLEST_DEFLECTION)

    # Rows of strips (n, 4, 2) that a track may cross: the lower one, and the upper one or -1.
    lower, upper = ut_row(y - ROW_TOLERANCE), ut_row(y + ROW_TOLERANCE)
    own_event, layers = (event - first_event)[:, None], np.arange(UT_LAYERS)
    also = np.where(upper > lower, _group(own_event, layers, upper), -1)
    strips = np.stack([_group(own_event, layers, lower), also], axis=2)

    near = []
    for anchor in ANCHOR_LAYERS:
        _, distance = search.around(strips[:, anchor], x[:, anchor, None], ANCHORS_PER_LAYER)
        distance = distance.reshape(len(x), 2 * ANCHORS_PER_LAYER)
        # If there are fewer hits, one missing distance is set to 0, to try a track without scattering, too.
        missing = np.isinf(distance)
        short = np.flatnonzero(missing.any(1))
        distance[short, np.argmax(missing[short], axis=1)] = 0.0
        near.append(distance / (z[anchor] - Z_PIVOT))
    turns, z_anchor = np.concatenate(near, axis=1), np.repeat(z[list(ANCHOR_LAYERS)], near[0].shape[1])
    track, column = np.nonzero(np.abs(turns) < DEFLECTION_MAX * width[:, None])
    turn, way = turns[track, column], z - z_anchor[column, None]

    x_tried = x[track] + turn[:, None] * (z - Z_PIVOT)
    found, distance = nearer(*search.nearest(strips[track], x_tried[..., None]))
    tolerance = WINDOW * np.hypot(MEASUREMENT, SCATTERING_IN_LAYER * h[track, None] * way)
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


def _group(event: np.ndarray, layer: np.ndarray, row: np.ndarray) -> np.ndarray:
    return (event.astype(np.int64) * UT_LAYERS + layer) * _ROWS + np.clip(row + _ROWS // 2, 0, _ROWS - 1)
