"""Pairs of VELO and SciFi segments that fit together through the magnet."""

import numpy as np

from parkf.simulation.groups import ragged
from parkf.simulation.pattern.magnet import P_MIN, MagnetModel
from parkf.simulation.pattern.scifi import SciFiSegments
from parkf.simulation.pattern.velo import Z_REFERENCE, VeloSegments

CHI2 = 30.0  # largest χ² of a pair from its distances in x, y and ty (3 terms)
# Largest distance in y of a SciFi segment from the straight VELO line: in mm, plus a fraction of |y| that
# allows for the focusing.
COARSE_Y, COARSE_Y_SHARE = 120.0, 0.06
# mm between events on the sorted axis, and the largest |y| on it: far outside the detector.
_EVENT_SPACING, _FARTHEST_Y = 1e6, 1e5
_MARGIN = 1e-3  # mm; more than rounding can move a position on that axis

# Widths of the distances in a genuine pair. One term is the measurement error. The other is due to scattering
# by some 6.5 MeV/p in front of the magnet, 6.7 m from the middle of the SciFi. It is proportional to 1/p, and
# so to the bend.
SIGMA_X, SIGMA_X_PER_BEND = 0.7, 23.0
SIGMA_Y, SIGMA_Y_PER_BEND = 1.0, 37.0
SIGMA_TY, SIGMA_TY_PER_BEND = 0.8e-3, 6.3e-3


def match_segments(velo: VeloSegments, scifi: SciFiSegments, magnet: MagnetModel) -> tuple[np.ndarray, ...]:
    """Join segments of the same events; both are sorted by event. Each segment is used in one pair at most.

    Return rows (n,) of both segments, and polarity · q/p (n,) in 1/MeV from the bending.
    """
    i, j = _coarse_pairs(velo, scifi, magnet)
    y, ty = magnet.y_at_scifi(velo.lines[i], scifi.states[j, 2])
    bend = scifi.states[j, 2] - velo.lines[i, 2]
    chi2 = (scifi.states[j, 1] - y) ** 2 / (SIGMA_Y**2 + (SIGMA_Y_PER_BEND * bend) ** 2)
    chi2 += (scifi.states[j, 3] - ty) ** 2 / (SIGMA_TY**2 + (SIGMA_TY_PER_BEND * bend) ** 2)
    # Few pairs agree in y and ty; all other quantities are computed only for these pairs.
    good = np.flatnonzero(chi2 < CHI2)
    i, j, bend, chi2 = i[good], j[good], bend[good], chi2[good]
    x = magnet.x_at_scifi(velo.lines[i], scifi.states[j, 2])
    chi2 += (scifi.states[j, 0] - x) ** 2 / (SIGMA_X**2 + (SIGMA_X_PER_BEND * bend) ** 2)
    h = magnet.h(velo.lines[i], scifi.tx_end[j])
    good = np.flatnonzero((chi2 < CHI2) & (np.abs(h) * P_MIN < 1))
    good = good[np.argsort(chi2[good], kind="stable")]
    chosen = good[first_come(i[good], j[good])]
    chosen = chosen[np.argsort(i[chosen])]
    return i[chosen], j[chosen], h[chosen]


def first_come(i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Choose pairs (n,) in their order; leave out a pair if one of its partners is already in a chosen pair.

    Return numbers (m,) of the chosen pairs; each partner occurs once.
    """
    waiting, chosen = np.arange(len(i)), []
    first_i, first_j = (np.empty(partner.max(initial=-1) + 1, int) for partner in (i, j))
    taken_i, taken_j = np.zeros(len(first_i), bool), np.zeros(len(first_j), bool)
    while len(waiting):
        a, b = i[waiting], j[waiting]
        # If an index occurs several times, NumPy keeps the last value. Pairs are written backwards, so the
        # first pair of each segment stays. A pair is chosen if it is the first one for both partners.
        first_i[a[::-1]] = first_j[b[::-1]] = waiting[::-1]
        settled = (first_i[a] == waiting) & (first_j[b] == waiting)
        chosen.append(waiting[settled])
        taken_i[a[settled]] = taken_j[b[settled]] = True
        waiting = waiting[~(taken_i[a] | taken_j[b])]
    return np.sort(np.concatenate(chosen)) if chosen else waiting


def _coarse_pairs(velo: VeloSegments, scifi: SciFiSegments, magnet: MagnetModel) -> tuple[np.ndarray, ...]:
    """Return rows (i, j) of pairs that belong to one event and roughly agree in y."""
    y = velo.lines[:, 1] + velo.lines[:, 3] * (magnet.z_scifi - Z_REFERENCE)
    first_event = min(velo.event.min(initial=0), scifi.event.min(initial=0))
    # Events are placed one after the other on one axis. Positions are clipped to less than half of the
    # spacing, so that events do not overlap.
    key = (velo.event - first_event) * _EVENT_SPACING + np.clip(y, -_FARTHEST_Y, _FARTHEST_Y)
    order = np.argsort(key, kind="stable")
    y_scifi = scifi.states[:, 1]
    reach = COARSE_Y + COARSE_Y_SHARE * np.abs(y_scifi)
    centre = (scifi.event - first_event) * _EVENT_SPACING + y_scifi
    widest = reach + _MARGIN
    j, place = ragged(*np.searchsorted(key[order], [centre - widest, centre + widest]))
    i = order[place]
    near = np.abs(y[i] - y_scifi[j]) < reach[j]
    return i[near], j[near]
