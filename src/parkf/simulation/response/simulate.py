"""Transport through the detector: true states for training, hits for pattern recognition, and fates."""

import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np

from parkf.detector.field import FieldMap
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, Geometry
from parkf.detector.transport import track_through
from parkf.io.arrow import table
from parkf.io.errors import ParkfError
from parkf.io.events import Columns, concatenate, count_events, particle_key, read_by_event, select
from parkf.io.tables import FATES, HITS, PARTICLES, STATES, Table
from parkf.io.terminal import progress_bar, say
from parkf.io.workers import default_workers
from parkf.simulation.particles import long_like, select_particles, usable_states, without_kinks
from parkf.simulation.plausible import check_particles
from parkf.simulation.response.hits import respond
from parkf.simulation.response.in_flight import mothers_of, placed

# Particles are read in pieces of this many events, or of more if these have fewer particles, as signals do.
EVENTS_PER_PIECE = 25
_PARTICLES_PER_PIECE = 1000
# The first layers behind the VELO: tracks without VELO hits have their states there.
CROSSED = (UT_PLANES.start, SCIFI_PLANES.start)


def simulate(
    particles_path: Path,
    states_path: Path | None,
    hits_path: Path | None,
    fates_path: Path | None = None,
    crossings_path: Path | None = None,
    *,
    geometry: Geometry,
    field: FieldMap,
    polarity: int,
    seed: int,
    hits_before: int | None = None,
    crowded: bool = False,
    threads: int | None = None,
) -> None:
    """Carry particles through field and material.

    The same seed leads to the same bytes, for any number of threads. Particles are a table
    `parkf.io.tables.PARTICLES`, sorted by event and particle. Up to four tables are written, if they have a
    path: `STATES`, the true states that :mod:`parkf.simulation.particles` selects; `HITS` of all particles;
    `FATES`, the hardest scattering of each particle; and crossings, a table `STATES` with the true states of
    all particles in the layers :data:`CROSSED`. States are written for all events. The others are written
    only for events below `hits_before`, if it is given; it must be a multiple of `EVENTS_PER_PIECE`.
    `crowded` hits have the tails, the overlaps and the density of LHCb's hits
    (`parkf.simulation.response.crowd`). The polarity is +1 for MagUp, -1 for MagDown. A ParkfError is raised
    when no path is given, when `hits_before` is not such a multiple, or when particles cannot be read.
    """
    if states_path is hits_path is fates_path is crossings_path is None:
        raise ParkfError("nothing to simulate: give a file for true states, hits or fates")
    if (hits_before or 0) % EVENTS_PER_PIECE:
        raise ParkfError(f"hits-before: got {hits_before}, expected a multiple of {EVENTS_PER_PIECE}")
    threads = threads or default_workers()
    carry = partial(track_through, field, polarity, geometry, seed=seed, threads=threads)
    with ExitStack() as stack:
        wanted: dict[str, tuple[Table, Path | None]] = {
            "states": (STATES, states_path),
            "hits": (HITS, hits_path),
            "fates": (FATES, fates_path),
            "crossings": (STATES, crossings_path),
        }
        writers = {
            name: stack.enter_context(kind.writer(path))
            for name, (kind, path) in wanted.items()
            if path is not None
        }

        def write(name: str, columns: Columns) -> None:
            writers[name].write_table(table(columns, wanted[name][0].schema))

        bar, count = stack.enter_context(progress_bar("transport", "events")), 0
        # Pieces end where hits do.
        rows = _PARTICLES_PER_PIECE if hits_before is None else 0
        for particles in read_by_event(PARTICLES, particles_path, events=EVENTS_PER_PIECE, rows=rows):
            check_particles(particles, particles_path)
            count += len(particles["event"])
            events = count_events(particles)
            # If only states are wanted, only particles with selected states need to be transported.
            states_alone = hits_path is fates_path is crossings_path is None or (
                hits_before is not None and particles["event"][0] >= hits_before
            )
            if states_alone and states_path is None:
                break
            if states_alone:
                particles = select(particles, select_particles(particles))
            mothers = mothers_of(particles)
            states = carry(select(particles, mothers < 0), long_only=states_alone)
            if "states" in writers:
                written = _worth_training(states, particles)
                write("states", written | {"polarity": np.full(len(written["z"]), polarity)})
            bar.update(events)
            if states_alone:
                continue
            if (mothers >= 0).any():
                products = placed(particles, mothers, states, field=field, polarity=polarity)
                states = _with_products(states, carry(products), particles, mothers)
            if "hits" in writers:
                write("hits", respond(states, geometry=geometry, seed=seed, crowded=crowded))
            if "fates" in writers:
                # The last state of each particle has its hardest scattering up to that state.
                write("fates", select(states, np.diff(particle_key(states), append=-1) != 0))
            if "crossings" in writers:
                crossed = select(states, np.isin(states["plane"], CROSSED))
                write("crossings", crossed | {"polarity": np.full(len(crossed["z"]), polarity)})
        if not count:
            say(f"warning: {particles_path}: 0 particles, expected some; check its events", file=sys.stderr)


def _with_products(states: Columns, later: Columns, particles: Columns, mothers: np.ndarray) -> Columns:
    """Add the true states `later` of products of decays behind the UT, as states of their mothers.

    LHCb's comparisons of tracks with the truth count hits of such a product as hits of its mother (Allen's
    TrackChecker, Rec's PrTrackAssociator). A track with hits of both is therefore no ghost.
    """
    product = np.searchsorted(particle_key(particles), particle_key(later))
    later["particle"] = particles["particle"][mothers[product]]
    states = concatenate([states, later])
    # Products begin behind the last states of their mothers, so their states are already in the order of z.
    order = np.argsort(particle_key(states), kind="stable")
    return select(states, order)


def _worth_training(states: Columns, particles: Columns) -> Columns:
    """Select the states that steps can be trained on.

    They belong to possible long tracks without a kink, and lie where a step may begin or end.
    """
    states = without_kinks(states)
    row = np.searchsorted(particle_key(particles), particle_key(states))
    chosen = select_particles(particles)
    chosen &= long_like(states["plane"], states["active"], row, len(chosen))
    return select(states, chosen[row] & usable_states(states))
