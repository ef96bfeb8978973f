"""Pairs of true states that make the rows of each step's dataset, for some events of a sample at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from parkf.detector.description import Beam
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES, Z_IN, Z_OUT
from parkf.io.errors import ParkfError
from parkf.io.events import Columns, particle_key, read_by_event
from parkf.io.tables import PARTICLES, STATES
from parkf.simulation.particles import long_like, select_particles, usable_states

SETS = {"V": 2, "VUT": 1, "UT": 6, "UTTF": 1, "TFT": 1, "T": 22, "BEAM": 2}
"""Number of parameter sets of each step that has a dataset."""

TOGETHER = {"T": 2}
"""Number of adjacent sets whose rows stay in the order of their tracks: both sides of a gap; else 1."""

EVENTS_PER_PIECE = 25

FROM_BEAM = 0.5
"""mm; a particle produced this close to the beam axis starts there."""

BEAM_LINE_SET = 1
"""The set of step BEAM whose target is not a plane, but the closest approach to the beam."""

_COLUMNS = ["event", "particle", "pdg_id", "charge", "x", "y", "z", "px", "py", "pz"]

# Rows of a step's dataset, (3, n): row of the origin among the states, row of the target, and parameter set.
# Origin and target are the same for BEAM_LINE_SET.
Legs = NDArray[np.int64]


@dataclass(frozen=True)
class Piece:
    """Some events of a sample."""

    polarity: int  # +1 MagUp, -1 MagDown
    states: Columns  # of STATES, (m,)
    particles: Columns  # of PARTICLES, (n,)
    row: NDArray[np.int64]  # row of each state's particle, (m,)
    legs: dict[str, Legs]  # by step


def read_pieces(particles: Path, states: Path, beam: Beam) -> Iterator[Piece]:
    """Read a sample, or a chunk of one: tables of one polarity, sorted by event and particle.

    Only particles from the beam enter the step to the beam line.
    """
    particle_pieces = read_by_event(PARTICLES, particles, events=EVENTS_PER_PIECE, columns=_COLUMNS)
    for columns in read_by_event(STATES, states, events=EVENTS_PER_PIECE):
        number = columns["event"][0] // EVENTS_PER_PIECE
        same = (piece for piece in particle_pieces if piece["event"][0] // EVENTS_PER_PIECE == number)
        known = next(same, None)
        if known is None:
            raise ParkfError(f"{particles}: lacks events of {states}")
        polarity = int(columns["polarity"][0])
        if np.any(columns["polarity"] != polarity):
            raise ParkfError(f"{states}: column 'polarity' changes, expected one polarity in a sample")
        wanted, keys = particle_key(columns), particle_key(known)
        first = np.flatnonzero(np.diff(wanted, prepend=-1) != 0)
        of_track = np.minimum(np.searchsorted(keys, wanted[first]), len(keys) - 1)
        unknown = np.flatnonzero(keys[of_track] != wanted[first])
        if len(unknown):
            event, particle = divmod(int(wanted[first[unknown[0]]]), 1 << 32)
            raise ParkfError(f"{particles}: particle {particle} of event {event} of {states} is missing")
        track = np.repeat(np.arange(len(first)), np.diff(first, append=len(wanted)))
        from_beam = np.hypot(known["x"] - beam.x, known["y"] - beam.y) < FROM_BEAM
        chosen = np.where(select_particles(known)[of_track], np.arange(len(first)), -1)
        legs = _pairs(columns, chosen[track], from_beam[of_track])
        yield Piece(polarity, columns, known, of_track[track], legs)


def _pairs(states: Columns, track: NDArray[np.int64], from_beam: NDArray[np.bool_]) -> dict[str, Legs]:
    """Pair up the true states of possible long tracks, see :func:`parkf.simulation.particles.long_like`.

    The rows of a track are in ascending z. `track` (m,) is the ascending number of each row's track from 0,
    or -1 for rows to leave out; `from_beam` (tracks,) marks tracks that start at the beam.
    """
    plane = states["plane"]
    row_at = np.full((len(from_beam), SCIFI_PLANES.stop), -1)
    usable = np.flatnonzero((track >= 0) & usable_states(states))
    row_at[track[usable], plane[usable]] = usable
    row_at[~long_like(plane[usable], states["active"][usable], track[usable], len(from_beam))] = -1
    velo, ut, scifi = row_at[:, : VELO_PLANES.stop], row_at[:, UT_PLANES], row_at[:, SCIFI_PLANES]

    velo_rows = velo[velo >= 0]
    same = track[velo_rows[1:]] == track[velo_rows[:-1]]
    before, after = velo_rows[:-1][same], velo_rows[1:][same]
    first_velo = _first(velo)[from_beam]
    ut_gaps = [(ut[:, gap], ut[:, gap + 1]) for gap in range(3)]
    return {
        "V": _legs((before, after, 0), (after, before, 1)),
        "VUT": _legs((_first(velo[:, ::-1]), ut[:, 0], 0)),
        "UT": _legs(
            *((begin, end, gap) for gap, (begin, end) in enumerate(ut_gaps)),
            *((end, begin, 3 + gap) for gap, (begin, end) in enumerate(ut_gaps)),
        ),
        "UTTF": _legs((row_at[:, Z_IN], row_at[:, Z_OUT], 0)),
        "TFT": _legs((row_at[:, Z_OUT], scifi[:, 0], 0)),
        "T": _legs(
            *((scifi[:, g], scifi[:, g + 1], 2 * g + (states["y"][scifi[:, g]] < 0)) for g in range(11))
        ),
        "BEAM": _legs((after, before, 0), (first_velo, first_velo, BEAM_LINE_SET)),
    }


def _legs(*parts: tuple[NDArray[np.int64], NDArray[np.int64], int | NDArray[np.int64]]) -> Legs:
    """Join legs from origins, targets and sets, without those whose origin or target is -1."""
    legs = np.concatenate([np.stack(np.broadcast_arrays(*part)) for part in parts], axis=1)
    return legs[:, (legs[:2] >= 0).all(axis=0)]


def _first(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """First row of each track that is not -1; -1 if none."""
    return rows[np.arange(len(rows)), np.argmax(rows >= 0, axis=1)]
