"""Pairs of VELO and SciFi segments that fit together through the magnet."""

from dataclasses import dataclass

import numpy as np

from parkf.simulation.pattern.magnet import MagnetModel
from parkf.simulation.pattern.scifi import SciFiSegments
from parkf.simulation.pattern.velo import Z_REFERENCE, VeloSegments
from parkf.simulation.pattern.windows import Windows

COARSE_Y = 120.0
COARSE_Y_SHARE = 0.06
"""A pair may be this far apart in y (mm, and share of |y| for the focusing) on the straight line."""

# Widths of a genuine pair's distances: the measurement's, and what grows with the bend, that is with 1/p:
# scattering by some 6.5 MeV over p before the magnet, 6.7 m from the middle of the SciFi.
SIGMA_X = 0.7
SIGMA_X_PER_BEND = 23.0
SIGMA_Y = 1.0
SIGMA_Y_PER_BEND = 37.0
SIGMA_TY = 0.8e-3
SIGMA_TY_PER_BEND = 6.3e-3


@dataclass(frozen=True)
class Matches:
    """VELO-SciFi pairs.

    Attributes
    ----------
    velo, scifi : (n,) int
        Rows of the segments.
    h : (n,) float64
        polarity · q/p in 1/MeV from the bending.
    """

    velo: np.ndarray
    scifi: np.ndarray
    h: np.ndarray


def match_segments(
    velo: VeloSegments, scifi: SciFiSegments, magnet: MagnetModel, windows: Windows
) -> Matches:
    """Join segments, the best pair first; every segment is used once.

    Parameters
    ----------
    velo, scifi : segments
        Of the same events, sorted by event.
    magnet : MagnetModel
        Predicts the SciFi state.
    windows : Windows
        `match_chi2` and `p_min` apply.
    """
    i, j = _coarse_pairs(velo, scifi, magnet)
    lines, states = velo.lines[i], scifi.states[j]
    bend = np.abs(states[:, 2] - lines[:, 2])
    y, ty = magnet.y_at_scifi(lines, states[:, 2])
    chi2 = (
        ((states[:, 0] - magnet.x_at_scifi(lines, states[:, 2])) ** 2)
        / (SIGMA_X**2 + (SIGMA_X_PER_BEND * bend) ** 2)
        + (states[:, 1] - y) ** 2 / (SIGMA_Y**2 + (SIGMA_Y_PER_BEND * bend) ** 2)
        + (states[:, 3] - ty) ** 2 / (SIGMA_TY**2 + (SIGMA_TY_PER_BEND * bend) ** 2)
    )
    h = magnet.h(lines, scifi.tx_end[j])
    kept = np.flatnonzero((chi2 < windows.match_chi2) & (np.abs(h) * windows.p_min < 1))
    kept = kept[np.argsort(chi2[kept], kind="stable")]
    velo_free, scifi_free = np.ones(len(velo.event), bool), np.ones(len(scifi.event), bool)
    best: list[int] = []
    for pair in kept:
        if velo_free[i[pair]] and scifi_free[j[pair]]:
            velo_free[i[pair]] = scifi_free[j[pair]] = False
            best.append(int(pair))
    chosen = np.array(best, dtype=int)
    chosen = chosen[np.argsort(i[chosen])]
    return Matches(i[chosen], j[chosen], h[chosen])


def _coarse_pairs(
    velo: VeloSegments, scifi: SciFiSegments, magnet: MagnetModel
) -> tuple[np.ndarray, np.ndarray]:
    """Rows (i, j) of pairs of one event that roughly agree in y."""
    y = velo.lines[:, 1] + velo.lines[:, 3] * (magnet.z_scifi - Z_REFERENCE)
    pairs = []
    for event in np.unique(velo.event):
        a, b = np.searchsorted(velo.event, [event, event + 1])
        c, d = np.searchsorted(scifi.event, [event, event + 1])
        y_scifi = scifi.states[c:d, 1]
        near = np.abs(y[a:b, None] - y_scifi) < COARSE_Y + COARSE_Y_SHARE * np.abs(y_scifi)
        pairs.append(np.argwhere(near) + np.array([a, c]))
    i, j = np.concatenate(pairs).T if pairs else np.zeros((2, 0), int)
    return i, j
