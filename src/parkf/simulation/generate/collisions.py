"""Proton-proton collisions from Pythia 8, as tables of charged final particles.

One parent initialises Pythia and every chunk of events runs in a fresh fork of it, seeded by (seed, chunk):
the same seed makes the same events on any number of cores. What decays before the magnet ends there (charged
pions, kaons and hyperons too), and so does what interacts in the material. Secondaries from the beam pipe and
the SciFi are added, and products of decays behind the UT.

Both beams are protons, and the detector covers one side. Every collision of Pythia is therefore used twice:
its forward particles in one event, and its backward particles, turned around, in another.
"""

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np

from parkf.detector.description import Beam
from parkf.io.arrow import table
from parkf.io.errors import ParkfError
from parkf.io.events import concatenate, select
from parkf.io.tables import PARTICLES
from parkf.io.terminal import progress_bar
from parkf.io.workers import forked_map
from parkf.simulation.generate.interactions import PHOTON, interact
from parkf.simulation.generate.pythia import MAX_SEED, SOFT_COLLISIONS, initialised
from parkf.simulation.generate.secondaries import secondaries
from parkf.simulation.random_numbers import Stream, keyed_generator
from parkf.simulation.response.in_flight import decay_behind_ut

EVENTS_PER_CHUNK = 25
"""Fixed, because the events of a seed depend on it."""

ETA_RANGE = (1.5, 5.5)
"""Pseudorapidity kept; wider than the spectrometer, as tracks bend across its edges."""

P_MIN = 300.0
"""MeV; softer particles curl up before the UT."""

Z_MIN = -500.0
"""mm, of the production vertex: the end of the field map."""

_GEV = 1e3

SHORTEST_TRACK = 1.0
"""mm; a charged particle that decays leaves a track when it flies this far along the beam."""


def generate(
    path: Path,
    *,
    beam: Beam,
    events: int,
    seed: int,
    pile_up: float,
    first: int = 0,
    workers: int | None = None,
) -> None:
    """Write the charged particles of `events` bunch crossings.

    Parameters
    ----------
    path : Path
        Table `parkf.io.tables.PARTICLES`, sorted by event and particle.
    beam : Beam
        Beam spot: mean x, y and Gaussian widths in mm.
    events : int
        Number of bunch crossings.
    seed : int
        Same seed, same bytes.
    pile_up : float
        Mean number of inelastic collisions in a crossing (Poisson).
    first : int
        Number of the first crossing, a multiple of `EVENTS_PER_CHUNK`: crossings of a number are the
        same, whichever are generated with them.
    workers : int, optional
        Parallel children, all cores by default.

    Raises
    ------
    ParkfError
        When `events` or `pile_up` is not positive, `first` no such multiple, or Pythia cannot be initialised.
    """
    if events <= 0 or not pile_up > 0:
        raise ParkfError(f"events and pile-up must be positive, got {events} and {pile_up}")
    check_first(first, EVENTS_PER_CHUNK)
    pythia = initialised(SOFT_COLLISIONS)
    end = first + events

    def chunk(start: int) -> dict[str, np.ndarray]:
        return _generate_chunk(pythia, beam, range(start, min(start + EVENTS_PER_CHUNK, end)), seed, pile_up)

    starts = range(first, end, EVENTS_PER_CHUNK)
    with PARTICLES.writer(path) as writer, progress_bar("generate", "events", total=events) as bar:
        for columns in forked_map(chunk, starts, workers):
            writer.write_table(table(columns, PARTICLES.schema))
            bar.update(min(EVENTS_PER_CHUNK, events - bar.n))


def check_first(first: int, multiple: int) -> None:
    """Refuse to begin inside a chunk: what Pythia draws there depends on the chunk's beginning.

    Raises
    ------
    ParkfError
        When `first` is negative or not a multiple.
    """
    if first < 0 or first % multiple:
        raise ParkfError(f"first: got {first}, expected a multiple of {multiple}, from 0 on")


def _generate_chunk(
    pythia: Any, beam: Beam, events: range, seed: int, pile_up: float
) -> dict[str, np.ndarray]:
    """Charged final particles of `events`, columns as in PARTICLES."""
    counts, vertices = [], []
    for event in events:
        random = keyed_generator(seed, event, Stream.COLLISIONS)
        count = int(random.poisson(pile_up))
        counts.append(count)
        vertices.append(vertices_of(beam, count, random))
    # The seed of the chunk is drawn, keyed, from those that Pythia accepts.
    chunk_random = keyed_generator(seed, events.start, Stream.PYTHIA)
    pythia.rndm.init(int(chunk_random.integers(1, MAX_SEED)))
    wanted = sum(counts)
    particles = stable_particles(pythia, collisions(pythia, -(-wanted // 2)))
    # Of an odd number, the last collision is used once.
    particles = select(particles, particles["collision"] < wanted)
    interactions = keyed_generator(seed, events.start, Stream.INTERACTIONS)
    particles = from_vertices(particles, np.concatenate(vertices), interactions)
    later = secondaries(particles, keyed_generator(seed, events.start, Stream.SECONDARIES))
    born = np.repeat([0, 1], [len(particles["z"]), len(later["z"])])
    particles = concatenate([particles, later])
    particles, products = decay_behind_ut(particles, keyed_generator(seed, events.start, Stream.DECAYS))
    born = np.append(born, np.full(len(products["z"]), 2))
    particles = concatenate([particles, products])
    event = np.repeat(np.arange(len(counts)), counts)[particles["collision"]]
    # Secondaries and then products of decays come last in an event, so that the numbers of the other
    # particles, which key their random numbers, do not depend on them.
    order = np.lexsort((particles["collision"], born, event))
    particles = select(particles, order)

    collision = particles["collision"]
    event = np.repeat(np.array(events), counts)[collision]
    first_collision = np.concatenate([[0], np.cumsum(counts)[:-1]])
    particles["collision"] = collision - first_collision[event - events.start]
    particles["event"] = event
    particles["particle"] = np.arange(len(event)) - np.searchsorted(event, event)
    return {name: particles[name].astype(kind.to_pandas_dtype()) for name, kind in PARTICLES.columns}


def collisions(pythia: Any, wanted: int) -> ak.Array:
    """Particle records of `wanted` collisions; Pythia leaves out those that it fails to complete."""
    batches = []
    while wanted > 0:
        batch = pythia.nextBatch(wanted)
        if len(batch) == 0:
            raise ParkfError("Pythia completes no collision any more")
        batches.append(batch.prt)
        wanted -= len(batch)
    return ak.concatenate(batches)


def stable_particles(pythia: Any, records: ak.Array) -> dict[str, np.ndarray]:
    """Collect what leaves a track, and photons: columns as in PARTICLES.

    `collision` counts over all records twice; the second time they are turned, by half a turn about y.
    """
    sizes = ak.to_numpy(ak.num(records))
    flat = ak.flatten(records)
    pdg_id = ak.to_numpy(flat.id)
    kinds, kind = np.unique(pdg_id, return_inverse=True)
    charge = np.array([pythia.particleData.charge(int(each)) for each in kinds])[kind]
    is_hadron = np.array([pythia.particleData.isHadron(int(each)) for each in kinds])[kind]
    collision = np.repeat(np.arange(len(sizes)), sizes)
    # Line 0 of a record is the collision itself.
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])[collision]
    mother_index = first + ak.to_numpy(flat.mother1)
    mother = np.where(is_hadron[mother_index], pdg_id[mother_index], 0)

    daughter = ak.to_numpy(flat.daughter1)
    final = ak.to_numpy(flat.status) > 0
    places = {name: ak.to_numpy(ak.fill_none(flat.vProd["p" + name], 0.0)) for name in "xyz"}
    momenta = {name: _GEV * ak.to_numpy(flat.p["p" + name]) for name in "xyz"}
    mass = _GEV * ak.to_numpy(flat.m)
    sides = []
    for number, sign in enumerate(({"x": 1, "y": 1, "z": 1}, {"x": -1, "y": 1, "z": -1})):
        # Where the first daughter starts is where its mother decays.
        start = sign["z"] * places["z"]
        end = np.where(final, np.inf, start[first + daughter])
        long_lived = final | (is_hadron & (daughter > 0) & (end - start > SHORTEST_TRACK))
        tracks = np.flatnonzero((long_lived & (charge != 0)) | (final & (pdg_id == PHOTON)))
        side = {
            "collision": collision[tracks] + number * len(sizes),
            "pdg_id": pdg_id[tracks],
            "mother": mother[tracks],
            "charge": np.rint(charge[tracks]),
            "mass": mass[tracks],
            "z_end": end[tracks],
        }
        for name in "xyz":
            side[name] = sign[name] * places[name][tracks]
            side["p" + name] = sign[name] * momenta[name][tracks]
        sides.append(side)
    return concatenate(sides)


def vertices_of(beam: Beam, count: int, random: np.random.Generator) -> np.ndarray:
    """Vertices (count, 3) of collisions in mm."""
    widths = [beam.sigma_x, beam.sigma_y, beam.sigma_z]
    return np.array([beam.x, beam.y, 0.0]) + random.standard_normal((count, 3)) * widths


def from_vertices(
    particles: dict[str, np.ndarray], vertices: np.ndarray, random: np.random.Generator
) -> dict[str, np.ndarray]:
    """Move particles to the vertices (collisions, 3) of their collisions; let those accepted interact."""
    vertex = vertices[particles["collision"]]
    moved = {name: particles[name] + vertex[:, axis] for axis, name in enumerate("xyz")}
    moved["z_end"] = particles["z_end"] + vertex[:, 2]
    return accepted(interact(accepted(particles | moved), random))


def accepted(particles: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Keep particles that may become tracks."""
    transverse = np.hypot(particles["px"], particles["py"])
    pz = particles["pz"]
    low, high = (np.sinh(eta) for eta in ETA_RANGE)
    kept = (
        (pz > low * transverse)
        & (pz < high * transverse)
        & (np.hypot(transverse, pz) > P_MIN)
        & (particles["z"] > Z_MIN)
    )
    return select(particles, kept)
