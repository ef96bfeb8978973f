"""Proton-proton collisions from Pythia 8, as tables of charged final particles.

Initialising Pythia takes seconds, so one parent does it and every chunk of events runs in a fresh fork of it,
seeded by (seed, chunk): the same seed gives the same events on any number of cores. Decays of long-lived neutrals
are on; charged pions, kaons and muons do not decay. Charged hyperons decay in Pythia's hands: their products are
kept, they themselves leave no track.
"""

from pathlib import Path
from typing import Any

import awkward as ak
import numpy as np
import pyarrow as pa
import pythia8mc
from tqdm import tqdm

from parkf.detector.geometry import Beam
from parkf.errors import ParkfError
from parkf.simulation.forked import forked_map
from parkf.simulation.randomness import Stream, keyed_generator
from parkf.tables import PARTICLES

EVENTS_PER_CHUNK = 25
"""Fixed: part of what a seed means."""

ETA_RANGE = (1.5, 5.5)
"""Pseudorapidity kept; wider than the spectrometer, since the field and scattering move tracks across its edges."""

P_MIN = 300.0
"""MeV; softer particles curl up before the UT."""

Z_RANGE = (-500.0, 7800.0)
"""mm, of the production vertex: from the end of the field map to the first SciFi layer."""

PYTHIA_SETTINGS = (
    "Print:quiet = on",
    "Beams:idA = 2212",
    "Beams:idB = 2212",
    "Beams:eCM = 13600.",
    "SoftQCD:inelastic = on",
    "Random:setSeed = on",
    "Random:seed = 1",
)
_MAX_PYTHIA_SEED = 900_000_000
_GEV = 1e3


def generate(
    path: Path, *, beam: Beam, events: int, seed: int, pile_up: float, workers: int | None = None
) -> None:
    """Write the charged particles of `events` bunch crossings.

    Parameters
    ----------
    path : Path
        Table `parkf.tables.PARTICLES`, sorted by event and particle.
    beam : Beam
        Beam spot: mean x, y and Gaussian widths in mm.
    events : int
        Number of bunch crossings.
    seed : int
        Same seed, same bytes.
    pile_up : float
        Mean number of inelastic collisions in a crossing (Poisson).
    workers : int, optional
        Parallel children, all cores by default.

    Raises
    ------
    ParkfError
        When `events` or `pile_up` is not positive, or Pythia cannot be initialised.
    """
    if events <= 0 or not pile_up > 0:
        raise ParkfError(f"events and pile-up must be positive, got {events} and {pile_up}")
    pythia = _initialised()

    def chunk(first: int) -> dict[str, np.ndarray]:
        return _generate_chunk(pythia, beam, range(first, min(first + EVENTS_PER_CHUNK, events)), seed, pile_up)

    starts = range(0, events, EVENTS_PER_CHUNK)
    with PARTICLES.writer(path) as writer, tqdm(total=events, desc="events", disable=None) as bar:
        for columns in forked_map(chunk, starts, workers):
            writer.write_table(pa.table(columns, schema=PARTICLES.schema))
            bar.update(min(EVENTS_PER_CHUNK, events - bar.n))


def _initialised() -> Any:
    pythia = pythia8mc.Pythia("", False)
    for setting in PYTHIA_SETTINGS:
        if not pythia.readString(setting):
            raise ParkfError(f"Pythia refuses the setting '{setting}'")
    if not pythia.init():
        raise ParkfError("Pythia could not be initialised; its messages are above")
    return pythia


def _generate_chunk(
    pythia: Any, beam: Beam, events: range, seed: int, pile_up: float
) -> dict[str, np.ndarray]:
    """Charged final particles of `events`, columns as in PARTICLES."""
    counts, vertices = [], []
    for event in events:
        random = keyed_generator(seed, event, Stream.COLLISIONS)
        count = int(random.poisson(pile_up))
        counts.append(count)
        vertices.append(
            np.array([beam.x, beam.y, beam.z])
            + random.standard_normal((count, 3)) * [beam.sigma_x, beam.sigma_y, beam.sigma_z]
        )
    # Pythia takes seeds up to 9e8: the chunk's is drawn, keyed, from that range.
    chunk_random = keyed_generator(seed, events.start, Stream.PYTHIA)
    pythia.rndm.init(int(chunk_random.integers(1, _MAX_PYTHIA_SEED)))
    particles = _charged_final(pythia, _collisions(pythia, sum(counts)))

    collision = particles["collision"]
    vertex = np.concatenate(vertices)[collision]
    for axis, name in enumerate("xyz"):
        particles[name] = particles[name] + vertex[:, axis]
    accepted = _accepted(particles)
    particles = {name: values[accepted] for name, values in particles.items()}
    collision = particles["collision"]
    event = np.repeat(np.array(events), counts)[collision]
    first_collision = np.concatenate([[0], np.cumsum(counts)[:-1]])
    particles["collision"] = collision - first_collision[event - events.start]
    particles["event"] = event
    particles["particle"] = np.arange(len(event)) - np.searchsorted(event, event)
    return {name: particles[name].astype(kind.to_pandas_dtype()) for name, kind in PARTICLES.columns}


def _collisions(pythia: Any, wanted: int) -> ak.Array:
    """Particle records of `wanted` collisions; Pythia leaves out those that it fails to complete."""
    batches = []
    while wanted > 0:
        batch = pythia.nextBatch(wanted)
        if len(batch) == 0:
            raise ParkfError("Pythia completes no collision any more")
        batches.append(batch.prt)
        wanted -= len(batch)
    return ak.concatenate(batches)


def _charged_final(pythia: Any, records: ak.Array) -> dict[str, np.ndarray]:
    """Final charged particles of all collisions: columns as in PARTICLES, `collision` counting over all records."""
    sizes = ak.to_numpy(ak.num(records))
    flat = ak.flatten(records)
    pdg_id = ak.to_numpy(flat.id)
    kinds, kind = np.unique(pdg_id, return_inverse=True)
    charge = np.array([pythia.particleData.charge(int(each)) for each in kinds])[kind]
    is_hadron = np.array([pythia.particleData.isHadron(int(each)) for each in kinds])[kind]
    collision = np.repeat(np.arange(len(sizes)), sizes)
    # Line 0 of a record is the collision itself.
    mother_index = np.concatenate([[0], np.cumsum(sizes)[:-1]])[collision] + ak.to_numpy(flat.mother1)
    mother = np.where(is_hadron[mother_index], pdg_id[mother_index], 0)

    final = np.flatnonzero((ak.to_numpy(flat.status) > 0) & (charge != 0))
    chosen = flat[final]
    columns = {
        "collision": collision[final],
        "pdg_id": pdg_id[final],
        "mother": mother[final],
        "charge": np.rint(charge[final]),
        "mass": _GEV * ak.to_numpy(chosen.m),
    }
    for name in "xyz":
        columns[name] = ak.to_numpy(ak.fill_none(chosen.vProd["p" + name], 0.0))
        columns["p" + name] = _GEV * ak.to_numpy(chosen.p["p" + name])
    return columns


def _accepted(particles: dict[str, np.ndarray]) -> np.ndarray:
    """Mask of particles that may become tracks."""
    transverse = np.hypot(particles["px"], particles["py"])
    pz = particles["pz"]
    low, high = (np.sinh(eta) for eta in ETA_RANGE)
    return (
        (pz > low * transverse)
        & (pz < high * transverse)
        & (np.hypot(transverse, pz) > P_MIN)
        & (particles["z"] > Z_RANGE[0])
        & (particles["z"] < Z_RANGE[1])
    )
