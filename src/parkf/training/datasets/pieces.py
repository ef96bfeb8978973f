"""True states of some events with the particles that they are of, and the legs that they make."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.detector.description import Beam
from parkf.io.errors import ParkfError
from parkf.io.events import particle_key, read_by_event
from parkf.io.tables import PARTICLES, STATES
from parkf.simulation.long_tracks import select_particles
from parkf.training.datasets.legs import Legs, legs_of_steps

EVENTS_PER_PIECE = 25

FROM_BEAM = 0.5
"""mm; a particle produced this close to the beam axis starts there."""

_COLUMNS = ["event", "particle", "pdg_id", "charge", "x", "y", "z", "px", "py", "pz"]


@dataclass(frozen=True)
class Piece:
    """Some events of a sample.

    `polarity` is +1 MagUp, -1 MagDown; `states` (m,) and `particles` (n,) are columns of STATES and
    PARTICLES; `row` (m,) is the row of each state's particle; `legs` are by step.
    """

    polarity: int
    states: dict[str, NDArray[Any]]
    particles: dict[str, NDArray[Any]]
    row: NDArray[np.int64]
    legs: dict[str, Legs]


def read_pieces(particles: Path, states: Path, beam: Beam) -> Iterator[Piece]:
    """Read a sample, or a chunk of one: tables of one polarity, sorted by event and particle.

    Only particles from the beam enter the step to the beam line.

    Raises
    ------
    ParkfError
        When files cannot be read or do not belong together, or the polarity changes.
    """
    particle_pieces = read_by_event(PARTICLES, particles, events=EVENTS_PER_PIECE, columns=_COLUMNS)
    for columns in read_by_event(STATES, states, events=EVENTS_PER_PIECE):
        number = columns["event"][0] // EVENTS_PER_PIECE
        known = next(
            (piece for piece in particle_pieces if piece["event"][0] // EVENTS_PER_PIECE == number), None
        )
        if known is None:
            raise ParkfError(f"{particles}: lacks events of {states}")
        polarity = int(columns["polarity"][0])
        if np.any(columns["polarity"] != polarity):
            raise ParkfError(f"{states}: column 'polarity' changes, expected one polarity in a sample")
        wanted = particle_key(columns)
        first = np.flatnonzero(np.diff(wanted, prepend=-1) != 0)
        of_track = _rows(particles, states, particle_key(known), wanted[first])
        track = np.repeat(np.arange(len(first)), np.diff(first, append=len(wanted)))
        from_beam = np.hypot(known["x"] - beam.x, known["y"] - beam.y) < FROM_BEAM
        chosen = np.where(select_particles(known)[of_track], np.arange(len(first)), -1)
        legs = legs_of_steps(columns, chosen[track], from_beam[of_track])
        yield Piece(polarity, columns, known, of_track[track], legs)


def _rows(particles: Path, states: Path, known: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[Any]:
    """Rows of particles by their keys."""
    row = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    unknown = np.flatnonzero(known[row] != wanted)
    if len(unknown):
        event, particle = divmod(int(wanted[unknown[0]]), 1 << 32)
        raise ParkfError(f"{particles}: particle {particle} of event {event} of {states} is missing")
    return row
