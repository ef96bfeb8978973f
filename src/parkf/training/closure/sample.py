"""Sample for the closure: tracks spread evenly over the magnet table, simulated, and fitted in full."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from parkf.detector.description import Beam
from parkf.detector.field import FieldMap
from parkf.detector.geometry import SCIFI_PLANES, Z_IN, Geometry
from parkf.detector.transport import track_through
from parkf.fit.candidates import Candidates, from_arrays
from parkf.fit.fitted import is_good
from parkf.fit.reference.full import fit_full
from parkf.io.arrow import numbers, table
from parkf.io.events import Columns, particle_key, select
from parkf.io.tables import CLOSURE_TRACKS
from parkf.io.terminal import progress_bar
from parkf.simulation.particles import KAON, MASSES, PION, PROTON, shot, without_kinks
from parkf.simulation.pattern.candidates import Search
from parkf.simulation.pattern.magnet import fit_magnet_model
from parkf.simulation.random_numbers import Stream, keyed_generator
from parkf.simulation.response.hits import respond

# Number of particles in an event, and of events that are simulated at a time.
PER_EVENT, EVENTS = 100, 100
MOMENTA = (1400.0, 120e3)  # MeV; log p is uniform between them
# For FLAT_SHARE of the tracks the slopes are uniform to a little past the grid's edges, since soft tracks
# bend before they reach it; for the rest the pseudorapidity is uniform, as in collisions.
SLOPES, FLAT_SHARE, ETA = (0.48, 0.37), 0.7, (1.9, 5.1)
# Fractions of the charged particles of pp collisions that live long enough.
SPECIES = {PION: 0.80, KAON: 0.13, PROTON: 0.07}
# Number of rows of a sample that are in memory at a time.
ROWS = 1 << 14


def simulate_sample(
    path: Path, *, tracks: int, seed: int, polarity: int, geometry: Geometry, field: FieldMap, threads: int
) -> int:
    """Write a sample, table ``parkf.io.tables.CLOSURE_TRACKS``, and return how many tracks it has.

    `tracks` is the number of particles to start, in whole events of a hundred; half of them leave a track.
    Polarity is +1 MagUp, -1 MagDown. The same seed leads to the same bytes, for any number of threads.
    """
    search = Search(geometry, fit_magnet_model(field, geometry), polarity)
    events = -(-tracks // PER_EVENT)
    count = 0
    with CLOSURE_TRACKS.writer(path) as writer, progress_bar("closure tracks", "tracks") as bar:
        for first in range(0, events, EVENTS):
            particles = _shoot(range(first, min(first + EVENTS, events)), seed, geometry.beam)
            states = track_through(
                field, polarity, geometry, particles, seed=seed, long_only=True, threads=threads
            )
            states = without_kinks(states)
            columns = search.matched(respond(states, geometry=geometry, seed=seed))
            columns |= _truth(columns, states, particles)
            columns = select(columns, columns["purity"] == 1)
            found = from_arrays(columns, np.float64)
            full = fit_full(geometry, field, found, errors=False, threads=threads)
            columns |= {"full_qop": full.qop, "full_status": full.status}
            writer.write_table(table(columns, CLOSURE_TRACKS.schema))
            count += len(columns["event"])
            bar.update(EVENTS * PER_EVENT)
    return count


@dataclass(frozen=True)
class Tracks:
    """Some rows of a sample."""

    candidates: Candidates  # n candidates in float64
    state: NDArray[np.float64]  # true x, y in mm, tx, ty at z_in, (n, 4)
    slopes: NDArray[np.float64]  # true tx, ty at production, (n, 2)
    true_qop: NDArray[np.float64]  # q/p at production in 1/MeV, (n,)
    full_qop: NDArray[np.float64]  # the same of the full fit, (n,)
    loss: NDArray[np.float64]  # momentum lost from production to the SciFi layers in MeV or NaN, (n, 12)

    def __len__(self) -> int:
        return len(self.true_qop)


def read_sample(paths: list[Path]) -> Iterator[Tracks]:
    """Yield the tracks of all files whose full fit is good, one batch after another."""
    for path in paths:
        file = CLOSURE_TRACKS.open(path)
        for batch in file.iter_batches(batch_size=ROWS):
            columns = {name: numbers(batch.column(name)) for name in batch.schema.names}
            good = is_good(columns["full_status"]) & np.isfinite(columns["tx_in"])
            columns = select(columns, good)
            yield Tracks(
                from_arrays(columns, np.float64),
                np.column_stack([columns[f"{name}_in"] for name in ("x", "y", "tx", "ty")]),
                np.column_stack([columns["true_tx"], columns["true_ty"]]),
                columns["true_qop"],
                columns["full_qop"],
                columns["loss"].astype(np.float64),
            )


def _shoot(events: range, seed: int, beam: Beam) -> Columns:
    """Particles of some events, as columns of ``parkf.io.tables.PARTICLES``."""
    draws = [keyed_generator(seed, event, Stream.CLOSURE) for event in events]
    place = np.concatenate([random.random((PER_EVENT, 6)) for random in draws])
    vertex = np.concatenate([random.standard_normal((PER_EVENT, 3)) for random in draws])
    p = MOMENTA[0] * (MOMENTA[1] / MOMENTA[0]) ** place[:, 0]
    polar, azimuth = 1 / np.sinh(ETA[0] + (ETA[1] - ETA[0]) * place[:, 1]), 2 * np.pi * place[:, 2]
    flat = place[:, 5] < FLAT_SHARE
    tx = np.where(flat, (2 * place[:, 1] - 1) * SLOPES[0], polar * np.cos(azimuth))
    ty = np.where(flat, (2 * place[:, 2] - 1) * SLOPES[1], polar * np.sin(azimuth))
    kind = np.searchsorted(np.cumsum(list(SPECIES.values())), place[:, 3], "right")
    kind = np.minimum(kind, len(SPECIES) - 1)
    charge = np.where(place[:, 4] < 0.5, 1, -1)
    mass = np.array([MASSES[one] for one in SPECIES])[kind]
    return shot(events, beam, vertex, p=p, tx=tx, ty=ty, charge=charge, mass=mass)


def _truth(columns: Columns, states: Columns, particles: Columns) -> Columns:
    """Find true state at z_in, q/p, and momentum lost up to the SciFi layers, of each candidate."""
    key, known = particle_key(columns), particle_key(particles)
    row = np.searchsorted(known, key)
    p = np.sqrt(particles["px"] ** 2 + particles["py"] ** 2 + particles["pz"] ** 2)[row]
    place = np.searchsorted(known, particle_key(states))
    at = np.full((len(known), SCIFI_PLANES.stop), -1)
    at[place, states["plane"]] = np.arange(len(place))
    begin = at[row, Z_IN]
    reached = at[row][:, SCIFI_PLANES]
    lost = np.where(reached >= 0, p[:, None] - states["p"][reached], np.nan)
    return {
        **{f"{c}_in": np.where(begin >= 0, states[c][begin], np.nan) for c in ("x", "y", "tx", "ty")},
        **{f"true_t{c}": (particles[f"p{c}"] / particles["pz"])[row] for c in ("x", "y")},
        "true_qop": particles["charge"][row] / p,
        "loss": lost.astype(np.float32),
    }
