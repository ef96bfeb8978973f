"""Signal decays for mass peaks: pp collisions that make a heavy quark pair, with the wanted decay forced.

Only the two tracks of the peak are kept, since the mass resolution depends on nothing else.
"""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from parkf.detector.description import Beam
from parkf.io.errors import ParkfError
from parkf.io.events import Columns, select
from parkf.io.option_types import Signal
from parkf.io.tables import PARTICLES
from parkf.simulation.generate import collisions
from parkf.simulation.generate.decays import DECAYS, Decay
from parkf.simulation.generate.pythia import initialised
from parkf.simulation.particles import PHOTON
from parkf.simulation.random_numbers import Stream, keyed_generator

# As EVENTS_PER_CHUNK and EVENTS_PER_FORK of crossings.
COLLISIONS_PER_CHUNK, COLLISIONS_PER_FORK = 500, 2000
AZIMUTHS = 4  # in which each side of a collision of Pythia's is used
_COMMON = ("PartonLevel:MPI = off", "PhaseSpace:pTHatMin = 2.")


def generate_signal(
    path: Path,
    *,
    signal: Signal,
    beam: Beam,
    number: int,
    seed: int,
    first: int = 0,
    workers: int | None = None,
) -> int:
    """Write the pairs of tracks in the acceptance, each as one event; return the number of pairs.

    The table is `parkf.io.tables.PARTICLES`. Pairs are from J/ψ→μμ or J/ψ→ee in B_s→J/ψφ, D⁰→Kπ in
    D*⁺→D⁰π⁺, or photons that convert in front of the magnet. The `number`
    collisions are numbered from `first` on, and each has a heavy quark pair, or for photons any
    hard scattering. One in five makes a J/ψ with both tracks, one in seven a D⁰. Pythia makes a quarter of
    the collisions, and each is used in four azimuths.
    Pairs and their event numbers depend only on the seed and the number of their collision, not on other
    collisions or on the number of `workers` (all cores by default). A ParkfError is raised when `number` is
    not positive, `first` is no multiple of `COLLISIONS_PER_FORK`, Pythia cannot be initialised, or no pair
    is found.
    """
    if number <= 0:
        raise ParkfError(f"signal: {number} collisions, expected a positive number")
    forks = collisions.pieces(first, number, COLLISIONS_PER_FORK)
    pythia = initialised((*_COMMON, *DECAYS[signal].settings))
    pairs = partial(_pairs, pythia, DECAYS[signal], beam, seed)
    with PARTICLES.writer(path) as writer:
        tracks = collisions.write_chunks(writer, forks, COLLISIONS_PER_CHUNK, pairs, signal, workers)
        if not tracks:
            raise ParkfError(f"signal '{signal}': no pair in {number} collisions; ask for more")
    return tracks // 2


def _pairs(pythia: Any, decay: Decay, beam: Beam, seed: int, chunk: range) -> Columns:
    """Columns of PARTICLES; events are numbered from the first collision's number on.

    Event numbers have no gaps in a chunk, although pairs are rare: later stages process many events together.
    """
    vertex_random, interactions = (
        keyed_generator(seed, chunk.start, stream) for stream in (Stream.COLLISIONS, Stream.INTERACTIONS)
    )
    count = 2 * len(chunk)  # both sides of each
    products = partial(_products, decay)
    particles = collisions.draw_collisions(pythia, count, seed, chunk.start, AZIMUTHS, products)
    vertices = collisions.vertices_of(beam, count, vertex_random)
    particles = collisions.from_vertices(particles, vertices, interactions)
    # Keep the two tracks of a mother, which begin where she decays, without particles that they made in the
    # material.
    own = np.abs(particles["mother"]) == decay.mother
    particles = select(particles, own & (particles["z"] < decay.z_max))
    particles = select(particles, np.lexsort((particles["z"], particles["collision"])))
    first = np.diff(particles["collision"], prepend=-1) != 0
    first |= np.diff(particles["z"], prepend=np.nan) != 0
    mother = np.cumsum(first) - 1
    complete = (np.bincount(mother) == 2) & (np.bincount(mother, particles["charge"]) == 0)
    particles = select(particles, complete[mother])
    # The events of a chunk have numbers of its own.
    particles = {name: values[: 2 * len(chunk)] for name, values in particles.items()}
    row = np.arange(len(particles["z"]))
    numbers = {"event": chunk.start + row // 2, "particle": row % 2, "collision": np.zeros_like(row)}
    return particles | numbers


def _products(decay: Decay, collision: np.ndarray, pdg_id: np.ndarray, mother: np.ndarray) -> np.ndarray:
    """Which particles are products of the decay; for photons, which are photons, as they convert later."""
    mothers = np.abs(mother)
    if decay.mother == PHOTON:
        return pdg_id == PHOTON
    is_product = mothers == decay.mother
    if decay.from_mother:
        is_product &= np.isin(collision, collision[mothers == decay.from_mother])
    return is_product
