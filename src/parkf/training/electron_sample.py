"""Electrons from collisions' vertices, simulated, with the hits that they left behind."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from parkf.detector.description import Beam
from parkf.detector.field import FieldMap
from parkf.detector.geometry import Geometry
from parkf.detector.transport import track_through
from parkf.io.events import Columns, particle_key, select
from parkf.simulation.particles import ELECTRON, MASSES, momentum, shot
from parkf.simulation.pattern.candidates import Search
from parkf.simulation.pattern.magnet import fit_magnet_model
from parkf.simulation.random_numbers import Stream, keyed_generator
from parkf.simulation.response.hits import respond

# Number of electrons in an event, and of events of a polarity that are simulated at a time.
PER_EVENT, EVENTS = 100, 100
# MeV; ln p is uniform between them. They reach farther than the momenta that are fitted, because an electron
# may have had many times the momentum of its fit.
MOMENTA = (1500.0, 400e3)
ETA = (1.9, 5.1)


def simulate_electrons(
    geometry: Geometry, field: FieldMap, *, tracks: int, seed: int, threads: int | None = None
) -> Iterator[Columns]:
    """Yield candidates of both polarities, columns of ``parkf.io.tables.CANDIDATES``, and ``true_qop``.

    `tracks` is the number of electrons to start, in whole events of a hundred, half of them for each
    polarity; three quarters leave a track with hits of no other. The result depends on seed and number alone.
    """
    magnet = fit_magnet_model(field, geometry)
    events = -(-tracks // (2 * PER_EVENT))
    for number, polarity in enumerate((+1, -1)):
        search = Search(geometry, magnet, polarity)
        for first in range(number * events, (number + 1) * events, EVENTS):
            last = min(first + EVENTS, (number + 1) * events)
            particles = _shoot(range(first, last), seed, geometry.beam)
            states = track_through(
                field, polarity, geometry, particles, seed=seed, long_only=True, threads=threads
            )
            columns = search.matched(respond(states, geometry=geometry, seed=seed))
            columns = select(columns, columns["purity"] == 1)
            row = np.searchsorted(particle_key(particles), particle_key(columns))
            yield columns | {"true_qop": (particles["charge"] / momentum(particles))[row]}


def _shoot(events: range, seed: int, beam: Beam) -> Columns:
    """Electrons of some events, as columns of ``parkf.io.tables.PARTICLES``."""
    draws = [keyed_generator(seed, event, Stream.ELECTRONS) for event in events]
    place: NDArray[np.float64] = np.concatenate([random.random((PER_EVENT, 4)) for random in draws])
    vertex = np.concatenate([random.standard_normal((PER_EVENT, 3)) for random in draws])
    p = MOMENTA[0] * (MOMENTA[1] / MOMENTA[0]) ** place[:, 0]
    slope, azimuth = 1 / np.sinh(ETA[0] + np.ptp(ETA) * place[:, 1]), 2 * np.pi * place[:, 2]
    tx, ty = slope * np.cos(azimuth), slope * np.sin(azimuth)
    charge, mass = np.where(place[:, 3] < 0.5, 1, -1), np.full(len(p), MASSES[ELECTRON])
    return shot(events, beam, vertex, p=p, tx=tx, ty=ty, charge=charge, mass=mass)
