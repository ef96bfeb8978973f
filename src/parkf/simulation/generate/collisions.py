"""Proton-proton collisions from Pythia 8, as tables of charged final particles.

One parent process initialises Pythia. Its random numbers are seeded by (seed, chunk of events). A few chunks
that follow each other run in a fresh fork of the parent, because a collision may depend on earlier ones of
the same process; of 22,000, three did. The chunks of a fork are fixed, so that the same seed makes the same
events on any number of cores.

Particles that decay in front of the magnet end at their decay, including charged pions, kaons and hyperons.
Particles that interact in the material end at the interaction. Secondaries from the beam pipe and the SciFi,
and products of decays behind the UT, are added.

Both beams are protons, and the detector covers one side. Every collision of Pythia is therefore used twice:
its forward particles in one event, and its backward particles, turned around, in another. Signals use them in
several azimuths, too. Crossings do not, because a collision's momenta and number of particles would come
again. In seven pairs of trainings with 100 crossings, four azimuths made the parameters of V, VUT and UT vary
1.17 ± 0.05 times as much from seed to seed.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import awkward as ak
import numpy as np

from parkf.detector.description import Beam
from parkf.io.arrow import table
from parkf.io.errors import ParkfError
from parkf.io.events import Columns, concatenate, select
from parkf.io.tables import PARTICLES, RowGroupWriter
from parkf.io.terminal import progress_bar
from parkf.io.workers import forked_map
from parkf.simulation.generate.interactions import interact
from parkf.simulation.generate.pythia import MAX_SEED, SOFT_COLLISIONS, initialised
from parkf.simulation.generate.secondaries import secondaries
from parkf.simulation.particles import PHOTON, in_acceptance
from parkf.simulation.random_numbers import Stream, keyed_generator
from parkf.simulation.response.in_flight import decay_behind_ut

# Numbers of events that have a seed of their own, and that are made in one fork. Both are fixed, because the
# events of a seed depend on them. A fork costs 27 ms, mostly for copies of the memory that it changes.
EVENTS_PER_CHUNK, EVENTS_PER_FORK = 25, 50
ETA_RANGE = (1.5, 5.5)  # pseudorapidity; wider than the spectrometer, because tracks bend across its edges
P_MIN = 300.0  # MeV; softer particles curl up before the UT
Z_MIN = -500.0  # mm, of the production vertex: the end of the field map
SHORTEST_TRACK = 1.0  # mm along the beam; a charged particle that decays later than this leaves a track
_GEV = 1e3

Wanted: TypeAlias = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""Which particles of one side are wanted, by numbers of collisions, PDG ids, and those of their mothers."""


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
    """Write the charged particles of bunch crossings: `parkf.io.tables.PARTICLES`, by event and particle.

    A crossing has `pile_up` inelastic collisions on average (Poisson). The numbers of the `events` crossings
    begin with `first`. A crossing depends only on seed and number, not on other crossings of the same call or
    on the number of `workers` (all cores by default). A ParkfError is raised when `events` or `pile_up` is
    not positive, `first` is no multiple of `EVENTS_PER_FORK`, or Pythia cannot be initialised.
    """
    if events <= 0 or not pile_up > 0:
        raise ParkfError(f"events and pile-up must be positive, got {events} and {pile_up}")
    forks = pieces(first, events, EVENTS_PER_FORK)
    pythia = initialised(SOFT_COLLISIONS)
    crossings = partial(_crossings, pythia, beam, seed, pile_up)
    with PARTICLES.writer(path) as writer:
        write_chunks(writer, forks, EVENTS_PER_CHUNK, crossings, "generate", workers)


def pieces(first: int, number: int, size: int) -> list[range]:
    """Divide `number` events from `first` on into pieces of `size`.

    A ParkfError is raised when `first` is negative or inside a piece, because the events depend on where a
    piece begins.
    """
    if first < 0 or first % size:
        raise ParkfError(f"first: got {first}, expected a multiple of {size}, from 0 on")
    end = first + number
    return [range(start, min(start + size, end)) for start in range(first, end, size)]


def write_chunks(
    writer: RowGroupWriter,
    forks: list[range],
    size: int,
    make: Callable[[range], Columns],
    label: str,
    workers: int | None,
) -> int:
    """Write the particles that `make` returns for each chunk of `size` events; return the number of rows.

    `forks` are the events of each fork of this process.
    """
    rows = 0
    chunks = partial(_chunks, make, size)
    with progress_bar(label, "events", total=sum(map(len, forks))) as bar:
        for fork, made in zip(forks, forked_map(chunks, forks, workers), strict=True):
            for columns in made:
                writer.write_table(table(columns, PARTICLES.schema))
                rows += len(columns["event"])
            bar.update(len(fork))
    return rows


def _chunks(make: Callable[[range], Columns], size: int, fork: range) -> list[Columns]:
    return [make(chunk) for chunk in pieces(fork.start, len(fork), size)]


def _crossings(pythia: Any, beam: Beam, seed: int, pile_up: float, events: range) -> Columns:
    """Charged final particles of some crossings: columns of PARTICLES, sorted by event and particle."""
    counts, vertices = [], []
    for number in events:
        random = keyed_generator(seed, number, Stream.COLLISIONS)
        counts.append(int(random.poisson(pile_up)))
        vertices.append(vertices_of(beam, counts[-1], random))
    interactions, extra, decays = (
        keyed_generator(seed, events.start, stream)
        for stream in (Stream.INTERACTIONS, Stream.SECONDARIES, Stream.DECAYS)
    )
    particles = draw_collisions(pythia, sum(counts), seed, events.start)
    particles = from_vertices(particles, np.concatenate(vertices), interactions)
    later = secondaries(particles, extra)
    particles, products = decay_behind_ut(concatenate([particles, later]), decays)
    prompt = len(particles["z"]) - len(later["z"])
    born = np.repeat([0, 1, 2], [prompt, len(later["z"]), len(products["z"])])
    particles = concatenate([particles, products])
    event = np.repeat(events, counts)[particles["collision"]]
    # Secondaries and then products of decays come last in an event. The numbers of the other particles, which
    # are keys of their random numbers, therefore do not depend on them.
    order = np.lexsort((particles["collision"], born, event))
    particles, event = select(particles, order), event[order]
    first_collision = np.concatenate([[0], np.cumsum(counts)[:-1]])
    return particles | {
        "collision": particles["collision"] - first_collision[event - events.start],
        "event": event,
        "particle": np.arange(len(event)) - np.searchsorted(event, event),
    }


def draw_collisions(
    pythia: Any, count: int, seed: int, chunk: int, azimuths: int = 1, wanted: Wanted | None = None
) -> Columns:
    """Return the particles of `count` sides of collisions, as from :func:`stable_particles`.

    Pythia makes as many collisions as are needed if both sides of each are used in `azimuths`. The number of
    the chunk is that of its first event. Its seed is drawn from the seeds that Pythia accepts.
    """
    pythia.rndm.init(int(keyed_generator(seed, chunk, Stream.PYTHIA).integers(1, MAX_SEED)))
    records = collisions(pythia, -(-count // (2 * azimuths)))
    particles = stable_particles(pythia, records, azimuths, wanted)
    # Some collisions are used less often, where `count` is no multiple.
    return select(particles, particles["collision"] < count)


def collisions(pythia: Any, wanted: int) -> ak.Array:
    """Return particle records of `wanted` collisions; collisions that Pythia cannot complete are left out."""
    batches = []
    while wanted > 0:
        batch = pythia.nextBatch(wanted)
        if len(batch) == 0:
            raise ParkfError("Pythia completes no collision any more")
        batches.append(batch.prt)
        wanted -= len(batch)
    return ak.concatenate(batches)


def stable_particles(
    pythia: Any, records: ak.Array, azimuths: int = 1, wanted: Wanted | None = None
) -> Columns:
    """Collect particles that leave a track, and photons, with columns as in PARTICLES.

    They are used in `azimuths`, at most four, a quarter of a turn apart. In each, `collision` counts over the
    forward sides of all records, then over the backward ones, which are rotated by 180° about y. By default
    all particles are `wanted`.
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
    uses = []
    for side, sign in enumerate(({"x": 1, "y": 1, "z": 1}, {"x": -1, "y": 1, "z": -1})):
        # A particle decays where its first daughter starts.
        start = sign["z"] * places["z"]
        end = np.where(final, np.inf, start[first + daughter])
        long_lived = final | (is_hadron & (daughter > 0) & (end - start > SHORTEST_TRACK))
        tracks = np.flatnonzero((long_lived & (charge != 0)) | (final & (pdg_id == PHOTON)))
        if wanted is not None:
            tracks = tracks[wanted(collision[tracks], pdg_id[tracks], mother[tracks])]
        use = {
            "collision": collision[tracks] + side * len(sizes),
            "pdg_id": pdg_id[tracks],
            "mother": mother[tracks],
            "charge": np.rint(charge[tracks]),
            "mass": mass[tracks],
            "z_end": end[tracks],
        }
        for name in "xyz":
            use[name] = sign[name] * places[name][tracks]
            use["p" + name] = sign[name] * momenta[name][tracks]
        for _ in range(azimuths):
            uses.append(use)
            use = _turned(use) | {"collision": use["collision"] + 2 * len(sizes)}
    return concatenate(uses)


def _turned(particles: Columns) -> Columns:
    """Rotate particles by a quarter of a turn about the beam."""
    x, y, px, py = (particles[name] for name in ("x", "y", "px", "py"))
    return particles | {"x": -y, "y": x, "px": -py, "py": px}


def vertices_of(beam: Beam, count: int, random: np.random.Generator) -> np.ndarray:
    """Vertices (count, 3) of collisions in mm."""
    widths = [beam.sigma_x, beam.sigma_y, beam.sigma_z]
    return np.array([beam.x, beam.y, 0.0]) + random.standard_normal((count, 3)) * widths


def from_vertices(particles: Columns, vertices: np.ndarray, random: np.random.Generator) -> Columns:
    """Move particles to the vertices (collisions, 3) of their collisions; let accepted particles interact."""
    vertex = vertices[particles["collision"]]
    moved = {name: particles[name] + vertex[:, axis] for axis, name in enumerate("xyz")}
    moved["z_end"] = particles["z_end"] + vertex[:, 2]
    return accepted(interact(accepted(particles | moved), random))


def accepted(particles: Columns) -> Columns:
    """Keep particles that may become tracks."""
    return select(particles, in_acceptance(particles, ETA_RANGE, P_MIN) & (particles["z"] > Z_MIN))
