"""UT hits for VELO segments: the set of strips that best agrees with a line that turns once.

The line of a segment that a SciFi segment belongs to is known from the momentum, and scattering turns it.
That of another segment is turned by the field in front of the UT, from which its momentum follows.
"""

from collections.abc import Callable

import numpy as np

from parkf.simulation.groups import nearer
from parkf.simulation.pattern.magnet import MagnetModel
from parkf.simulation.pattern.strips import Strips
from parkf.simulation.pattern.velo import Z_REFERENCE

WINDOW = 4.0  # widths; a hit may lie this far from the line through another one
FEWEST = 3  # layers, as in the trigger; two strips near the expected position may well be noise
# In each of ANCHOR_LAYERS, this number of hits near the expected position is tried, each as the start of a
# set: for a known momentum, and for an unknown one.
ANCHOR_LAYERS, ANCHORS, ANCHORS_OF_ANY_MOMENTUM = (0, 3), 6, 20
Z_PIVOT = 1000.0  # mm; average z of the deflection in the material between VELO and UT
SCATTERING = 5.4  # MeV; times 1/p, the width of this deflection
SMALLEST_DEFLECTION = 1.5e-4  # rad; error of the VELO line's own direction, added in quadrature
DEFLECTION_MAX = 4.0  # largest deflection tried, in widths
# The width of a hit's distance from the line has two terms. SCATTERING_IN_LAYER (MeV) is multiplied by 1/p
# and by the distance along z from the set's first hit. It includes 1.2 MeV of scattering in the layers, and
# deflections away from the pivot. MEASUREMENT (mm) is due to the errors of both hits and of their direction.
SCATTERING_IN_LAYER, MEASUREMENT = 2.5, 0.15
SOFTEST = 1000.0  # MeV; the bend in front of the UT tells the momentum of a track of 1.5 GeV to a fifth
# Largest score of hits for a track of unknown momentum. A layer without a hit counts 1, as do a hit at the
# edge of its window and the largest turn. The cut keeps nine tenths of the true hits, and a half of the wrong
# ones.
WORST_OF_ANY_MOMENTUM = 1.5
ROW_TOLERANCE = 3.0  # mm; a track may pass a strip's end by this distance in y


def find_ut_hits(
    strips: Strips, event: np.ndarray, velo: np.ndarray, h: np.ndarray, magnet: MagnetModel
) -> np.ndarray:
    """Find the UT hits of each candidate: return rows (n, 4) of the hits, -1 for a layer without a hit.

    Candidates have an event (n,), a VELO line x, y, tx, ty (n, 4) in mm and rad, and h = polarity · q/p (n,)
    in 1/MeV.
    """
    x, y = _straight(strips, velo)
    width = np.hypot(SCATTERING * np.abs(h), SMALLEST_DEFLECTION)
    per_turn = np.broadcast_to(strips.z - Z_PIVOT, x.shape)
    x += magnet.x_shift_at_ut(velo, h)
    return _best_turned(
        strips, event, (x, y), per_turn, DEFLECTION_MAX * width, lambda track, _: h[track], ANCHORS
    )


def find_ut_hits_of_any_momentum(
    strips: Strips, event: np.ndarray, velo: np.ndarray, magnet: MagnetModel
) -> np.ndarray:
    """Find the UT hits (n, 4) of VELO segments whose momentum is unknown, above :data:`SOFTEST`."""
    per_h = magnet.x_shift_at_ut(velo, np.ones(len(velo)))
    most = np.full(len(velo), 1 / SOFTEST)
    return _best_turned(
        strips,
        event,
        _straight(strips, velo),
        per_h,
        most,
        lambda _, h: h,
        ANCHORS_OF_ANY_MOMENTUM,
        WORST_OF_ANY_MOMENTUM,
    )


def _straight(strips: Strips, velo: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return x and y (n, 4) in mm of VELO lines at the layers."""
    along = strips.z - Z_REFERENCE
    return velo[:, :1] + velo[:, 2:3] * along, velo[:, 1:2] + velo[:, 3:4] * along


def _best_turned(
    strips: Strips,
    event: np.ndarray,
    expected: tuple[np.ndarray, np.ndarray],
    per_turn: np.ndarray,
    most: np.ndarray,
    h_of: Callable[[np.ndarray, np.ndarray], np.ndarray],
    anchors: int,
    worst: float = np.inf,
) -> np.ndarray:
    """Find the hits (n, 4) that agree best with x + turn·`per_turn`, for any turn up to `most` (n,).

    `expected` are x and y in mm, (n, 4) each. `h_of` returns h of trials from their tracks and turns. Hits
    with a larger score than the `worst` are not taken.
    """
    z, search, (x, y) = strips.z, strips.search, expected
    # From here on, x is where the strip through the track's point crosses y = 0.
    x = x - y * strips.slope
    crossed = strips.crossed(event, y, ROW_TOLERANCE)

    near = []
    for anchor in ANCHOR_LAYERS:
        _, distance = search.around(crossed[:, anchor], x[:, anchor, None], anchors)
        distance = distance.reshape(len(x), 2 * anchors)
        # If there are fewer hits, one missing distance is set to 0, to try a track that is not turned, too.
        missing = np.isinf(distance)
        short = np.flatnonzero(missing.any(1))
        distance[short, np.argmax(missing[short], axis=1)] = 0.0
        near.append(distance / per_turn[:, [anchor]])
    turns, z_anchor = np.concatenate(near, axis=1), np.repeat(z[list(ANCHOR_LAYERS)], 2 * anchors)
    track, column = np.nonzero(np.abs(turns) < most[:, None])
    turn, way = turns[track, column], z - z_anchor[column, None]

    x_tried = x[track] + turn[:, None] * per_turn[track]
    found, distance = nearer(*search.nearest(crossed[track], x_tried[..., None]))
    h = h_of(track, turn)
    tolerance = WINDOW * np.hypot(MEASUREMENT, SCATTERING_IN_LAYER * h[:, None] * way)
    accepted = np.abs(distance) < tolerance
    missed = np.where(accepted, (distance / tolerance) ** 2, 1.0).sum(-1)
    score = missed + (turn / most[track]) ** 2
    score[(accepted.sum(-1) < FEWEST) | (score > worst)] = np.inf
    return strips.best(len(event), track, found, ~accepted, score)
