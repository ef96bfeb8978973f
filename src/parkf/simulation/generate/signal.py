"""Signal decays for mass peaks: pp collisions that make a heavy pair, with the decay of interest forced.

Only the two tracks of the peak are kept, since the mass resolution depends on nothing else.
"""

from pathlib import Path
from typing import Any

import numpy as np

from parkf.detector.description import Beam
from parkf.io.arrow import table
from parkf.io.errors import ParkfError
from parkf.io.events import select
from parkf.io.option_types import Signal
from parkf.io.tables import PARTICLES
from parkf.io.terminal import progress_bar
from parkf.io.workers import forked_map
from parkf.simulation.generate.collisions import (
    check_first,
    collisions,
    from_vertices,
    stable_particles,
    vertices_of,
)
from parkf.simulation.generate.decays import DECAYS, Decay
from parkf.simulation.generate.pythia import MAX_SEED, initialised
from parkf.simulation.random_numbers import Stream, keyed_generator

COLLISIONS_PER_CHUNK = 500
"""Fixed, because the events of a seed depend on it."""

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
    """Write the pairs of tracks in the acceptance, an event each; return how many there are.

    Parameters
    ----------
    path : Path
        Table `parkf.io.tables.PARTICLES`.
    signal : {'jpsi', 'd0'}
        J/ψ→μμ from B_s→J/ψφ, or D⁰→Kπ from D*⁺→D⁰π⁺.
    beam : Beam
        Beam spot.
    number : int
        Collisions, of a heavy quark pair each; one in five makes a J/ψ with both tracks, one in seven a D⁰.
    seed : int
        Same seed, same bytes.
    first : int
        Number of the first collision, a multiple of `COLLISIONS_PER_CHUNK`: pairs of a collision are
        the same, and have the same event numbers, whichever are generated with them.
    workers : int, optional
        Parallel children, all cores by default.

    Raises
    ------
    ParkfError
        When `number` is not positive, `first` no such multiple, Pythia cannot be initialised, or no
        pair came out.
    """
    if number <= 0:
        raise ParkfError(f"signal: {number} collisions, expected a positive number")
    check_first(first, COLLISIONS_PER_CHUNK)
    pythia = initialised((*_COMMON, *DECAYS[signal].settings))
    end = first + number

    def chunk(start: int) -> dict[str, np.ndarray]:
        count = min(COLLISIONS_PER_CHUNK, end - start)
        return _pairs(pythia, DECAYS[signal], beam, start, count, seed)

    pairs = 0
    with PARTICLES.writer(path) as writer, progress_bar(signal, "events", total=number) as bar:
        for columns in forked_map(chunk, range(first, end, COLLISIONS_PER_CHUNK), workers):
            writer.write_table(table(columns, PARTICLES.schema))
            pairs += len(columns["event"]) // 2
            bar.update(min(COLLISIONS_PER_CHUNK, number - bar.n))
        if not pairs:
            raise ParkfError(f"signal '{signal}': no pair in {number} collisions; ask for more")
    return pairs


def _pairs(pythia: Any, decay: Decay, beam: Beam, first: int, count: int, seed: int) -> dict[str, np.ndarray]:
    """Columns of PARTICLES; events are numbered from `first` on.

    Pairs are rare. Their numbers have no gaps in a chunk, so that later stages process many events together.
    """
    pythia.rndm.init(int(keyed_generator(seed, first, Stream.PYTHIA).integers(1, MAX_SEED)))
    particles = stable_particles(pythia, collisions(pythia, count))
    mothers = particles["mother"]
    wanted = np.abs(mothers) == decay.mother
    if decay.from_mother:
        witnesses = particles["collision"][np.abs(mothers) == decay.from_mother]
        wanted &= np.isin(particles["collision"], witnesses)
    # Both sides of each.
    count *= 2
    vertices = vertices_of(beam, count, keyed_generator(seed, first, Stream.COLLISIONS))
    particles = select(particles, wanted)
    particles = from_vertices(particles, vertices, keyed_generator(seed, first, Stream.INTERACTIONS))
    order = np.argsort(particles["collision"], kind="stable")
    particles = select(particles, order)
    # Keep the two tracks of the pair, without particles that they made in the material.
    own = np.abs(particles["mother"]) == decay.mother
    number = np.bincount(particles["collision"][own], minlength=count)
    charge = np.bincount(particles["collision"][own], particles["charge"][own], minlength=count)
    chosen = own & ((number == 2) & (charge == 0))[particles["collision"]]
    particles = select(particles, chosen)
    # Refuse pairs of different vertices: with two mothers in a collision, each may have lost one track.
    together = np.repeat(np.ptp(particles["z"].reshape(-1, 2), axis=1) == 0, 2)
    particles = select(particles, together)
    particles["event"] = first + np.arange(len(particles["z"])) // 2
    particles["particle"] = np.arange(len(particles["z"])) % 2
    particles["collision"] = np.zeros(len(particles["z"]))
    return {name: particles[name].astype(kind.to_pandas_dtype()) for name, kind in PARTICLES.columns}
