"""UT hits for SciFi segments that no VELO segment belongs to.

A downstream track turns about the point where the lines before and behind the magnet meet. The search begins
with the line from there to z = 0, and takes the strips that agree best with a line that is turned in x and
moved in y, as LHCb's search for long-lived particles does (Rec, ``PrLongLivedTracking``).
"""

import numpy as np

from parkf.simulation.groups import nearer
from parkf.simulation.pattern.magnet import MagnetModel
from parkf.simulation.pattern.scifi import SciFiSegments
from parkf.simulation.pattern.strips import Strips
from parkf.simulation.pattern.ut import ANCHOR_LAYERS, FEWEST
from parkf.simulation.pattern.velo import Z_REFERENCE

# Widths, of tracks of the embedded simulation with momentum p. They have a constant term and one that is
# divided by p (MeV): of the turn (rad), which is that of decays off the axis; of y in the UT (mm), where the
# SciFi alone determines it; and of the largest distance of a hit from the line (mm), a sum.
TURN, TURN_PER_H = 3e-3, 25.0
Y, Y_PER_H = 6.0, 30e3
WINDOW, WINDOW_PER_H = 0.3, 2200.0
# Largest turn and move in y, in widths, and the number of hits to either side that begin a trial.
TURN_MAX, TURNS = 4.0, 6
Y_MAX, MOVES = 3.0, 3
STEREO_LAYERS = (1, 2)
ROW_TOLERANCE = 15.0  # mm; a track may pass the end of a strip by this distance in y
# Score of the worst hits that are taken. A layer without a hit counts 1, a hit at the edge of its window 1,
# too. The cut keeps nine tenths of the true hits, and a half of the wrong ones.
WORST = 1.2


def find_ut_hits_behind(strips: Strips, segments: SciFiSegments, magnet: MagnetModel) -> np.ndarray:
    """Find the UT hits of SciFi segments: return rows (n, 4) of the hits, -1 for a layer without a hit."""
    z, search, event = strips.z, strips.search, segments.event
    lines, z_kink = magnet.lines_from_origin(segments.states)
    h = magnet.h(lines, segments.tx_end)
    y = lines[:, 1:2] + lines[:, 3:4] * (z - Z_REFERENCE)
    x = lines[:, :1] + lines[:, 2:3] * (z - Z_REFERENCE) + magnet.x_shift_at_ut(lines, h) - y * strips.slope
    widest_turn = TURN_MAX * np.hypot(TURN, TURN_PER_H * h)
    widest_move = Y_MAX * np.hypot(Y, Y_PER_H * h)
    crossed = strips.crossed(event, y, ROW_TOLERANCE)

    def trials(layers: tuple[int, ...], groups: np.ndarray, x: np.ndarray, hits: int) -> list[np.ndarray]:
        """Distances (n, hits) of the nearest hits in each of the layers."""
        around = (search.around(groups[:, layer], x[:, layer, None], 2 * hits)[1] for layer in layers)
        return [distance.reshape(len(x), -1) for distance in around]

    far = z - z_kink[:, None]
    near = trials(ANCHOR_LAYERS, crossed, x, TURNS)
    turns = np.concatenate(
        [d / far[:, [layer]] for d, layer in zip(near, ANCHOR_LAYERS, strict=True)], axis=1
    )
    track, column = np.nonzero(np.abs(turns) < widest_turn[:, None])
    turn = turns[track, column]
    turned = x[track] + turn[:, None] * far[track]

    near = trials(STEREO_LAYERS, crossed[track], turned, MOVES)
    moves = np.concatenate(
        [d / -strips.slope[layer] for d, layer in zip(near, STEREO_LAYERS, strict=True)], axis=1
    )
    trial, column = np.nonzero(np.abs(moves) < widest_move[track, None])
    move, turn, track = moves[trial, column], turn[trial], track[trial]
    x_tried = turned[trial] - move[:, None] * strips.slope

    found, distance = nearer(*search.nearest(crossed[track], x_tried[..., None]))
    window = (WINDOW + WINDOW_PER_H * np.abs(h))[track, None]
    accepted = np.abs(distance) < window
    score = np.where(accepted, (distance / window) ** 2, 1.0).sum(axis=1)
    score += (turn / widest_turn[track]) ** 2 + (move / widest_move[track]) ** 2
    score[(accepted.sum(axis=1) < FEWEST) | (score > WORST)] = np.inf
    return strips.best(len(event), track, found, ~accepted, score)
