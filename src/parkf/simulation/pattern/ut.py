"""UT hits for a matched pair: the set of strips that best agrees with a line bent by one scattering angle."""

import numpy as np

from parkf.simulation.groups import nearer
from parkf.simulation.pattern.magnet import MagnetModel
from parkf.simulation.pattern.strips import Strips
from parkf.simulation.pattern.velo import Z_REFERENCE

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


def find_ut_hits(
    strips: Strips, event: np.ndarray, velo: np.ndarray, h: np.ndarray, magnet: MagnetModel
) -> np.ndarray:
    """Find the UT hits of each candidate: return rows (n, 4) of the hits, -1 for a layer without a hit.

    Candidates have an event (n,), a VELO line x, y, tx, ty (n, 4) in mm and rad, and h = polarity · q/p (n,)
    in 1/MeV.
    """
    z, search = strips.z, strips.search
    x = velo[:, :1] + velo[:, 2:3] * (z - Z_REFERENCE) + magnet.x_shift_at_ut(velo, h)
    y = velo[:, 1:2] + velo[:, 3:4] * (z - Z_REFERENCE)
    # From here on, x is where the strip through the track's point crosses y = 0.
    x -= y * strips.slope
    width = np.hypot(SCATTERING * np.abs(h), SMALLEST_DEFLECTION)
    crossed = strips.crossed(event, y, ROW_TOLERANCE)

    near = []
    for anchor in ANCHOR_LAYERS:
        _, distance = search.around(crossed[:, anchor], x[:, anchor, None], ANCHORS_PER_LAYER)
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
    found, distance = nearer(*search.nearest(crossed[track], x_tried[..., None]))
    tolerance = WINDOW * np.hypot(MEASUREMENT, SCATTERING_IN_LAYER * h[track, None] * way)
    accepted = np.abs(distance) < tolerance
    missed = np.where(accepted, (distance / tolerance) ** 2, 1.0).sum(-1)
    score = missed + (turn / (DEFLECTION_MAX * width[track])) ** 2
    score[accepted.sum(-1) < FEWEST] = np.inf
    return strips.best(len(event), track, found, ~accepted, score)
