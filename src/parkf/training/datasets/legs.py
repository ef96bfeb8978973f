"""Which pairs of true states make the rows of each step's dataset."""

from dataclasses import dataclass

import numpy as np

from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES, Z_IN, Z_OUT
from parkf.simulation.long_tracks import long_like, usable_states

N_PLANES = SCIFI_PLANES.stop

BEAM_LINE_SET = 1
"""The set of step BEAM whose target is no plane but the closest approach to the beam."""


@dataclass(frozen=True)
class Legs:
    """Rows of one step's dataset.

    `origin` and `target` (n,) are rows of the states, the same for BEAM_LINE_SET; `set` (n,) is the
    parameter set.
    """

    origin: np.ndarray
    target: np.ndarray
    set: np.ndarray


def legs_of_steps(states: dict[str, np.ndarray], track: np.ndarray, from_beam: np.ndarray) -> dict[str, Legs]:
    """Pair up the true states of some tracks.

    Only possible long tracks count: :func:`parkf.simulation.long_tracks.long_like`.

    Parameters
    ----------
    states : dict of (m,) arrays
        Columns of `parkf.io.tables.STATES`; the rows of a track in ascending z.
    track : (m,) int
        Ascending number of each row's track from 0, or -1 for rows to leave out.
    from_beam : (n_tracks,) bool
        Whether a track starts at the beam; only those enter the step to the beam line.
    """
    n_tracks = len(from_beam)
    plane = states["plane"]
    row_at = np.full((n_tracks, N_PLANES), -1)
    usable = np.flatnonzero((track >= 0) & usable_states(states))
    row_at[track[usable], plane[usable]] = usable
    row_at[~long_like(plane[usable], states["active"][usable], track[usable], n_tracks)] = -1
    velo = row_at[:, : VELO_PLANES.stop]

    velo_rows = velo[velo >= 0]
    same = track[velo_rows[1:]] == track[velo_rows[:-1]]
    before, after = velo_rows[:-1][same], velo_rows[1:][same]
    last_velo = _last(velo)
    first_velo = _first(velo)

    ut, scifi = row_at[:, UT_PLANES], row_at[:, SCIFI_PLANES]
    forward = [_leg(ut[:, gap], ut[:, gap + 1], gap) for gap in range(3)]
    backward = [_leg(ut[:, gap + 1], ut[:, gap], 3 + gap) for gap in range(3)]
    return {
        "V": _join([_leg(before, after, 0), _leg(after, before, 1)]),
        "VUT": _leg(last_velo, ut[:, 0], 0),
        "UT": _join([*forward, *backward]),
        "UTTF": _leg(row_at[:, Z_IN], row_at[:, Z_OUT], 0),
        "TFT": _leg(row_at[:, Z_OUT], scifi[:, 0], 0),
        "T": _join(
            [
                _leg(scifi[:, gap], scifi[:, gap + 1], 2 * gap + (states["y"][scifi[:, gap]] < 0))
                for gap in range(11)
            ]
        ),
        "BEAM": _join(
            [
                _leg(after, before, 0),
                _leg(first_velo[from_beam], first_velo[from_beam], BEAM_LINE_SET),
            ]
        ),
    }


def _leg(origin: np.ndarray, target: np.ndarray, parameter_set: int | np.ndarray) -> Legs:
    both = (origin >= 0) & (target >= 0)
    return Legs(origin[both], target[both], np.broadcast_to(parameter_set, origin.shape)[both])


def _join(legs: list[Legs]) -> Legs:
    return Legs(
        *(np.concatenate([getattr(leg, name) for leg in legs]) for name in ("origin", "target", "set"))
    )


def _first(rows: np.ndarray) -> np.ndarray:
    """First row of each track that is not -1; -1 if none."""
    column = np.argmax(rows >= 0, axis=1)
    return rows[np.arange(len(rows)), column]


def _last(rows: np.ndarray) -> np.ndarray:
    return _first(rows[:, ::-1])
