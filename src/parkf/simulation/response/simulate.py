"""Transport through the detector: true states for training, hits for pattern recognition, and fates."""

import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np

from parkf.detector.field import FieldMap
from parkf.detector.geometry import Geometry
from parkf.detector.transport import track_through
from parkf.io.arrow import table
from parkf.io.errors import ParkfError
from parkf.io.events import Columns, concatenate, particle_key, read_by_event, select
from parkf.io.tables import FATES, HITS, PARTICLES, STATES, Table
from parkf.io.terminal import progress_bar, say
from parkf.io.workers import default_workers
from parkf.simulation.particles import long_like, select_particles, usable_states, without_kinks
from parkf.simulation.plausible import check_particles
from parkf.simulation.response.hits import respond
from parkf.simulation.response.in_flight import mothers_of, placed

EVENTS_PER_PIECE = 25


def simulate(
    particles_path: Path,
    states_path: Path | None,
    hits_path: Path | None,
    fates_path: Path | None = None,
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
    `parkf.io.tables.PARTICLES`, sorted by event and particle. Up to three tables are written, if they have a
    path: `STATES`, the true states that :mod:`parkf.simulation.particles` selects; `HITS` of all particles;
    and `FATES`, the hardest scattering of each particle. States are written for all events. Hits and fates
    are written only for events below `hits_before`, if it is given; it must be a multiple of
    `EVENTS_PER_PIECE`. `crowded` hits have the tails, the overlaps and the density of LHCb's hits
    (`parkf.simulation.response.crowd`). The polarity is +1 for MagUp, -1 for MagDown. A ParkfError is raised
    when no path is given, when `hits_before` is not such a multiple, or when particles cannot be read.
    """
    if states_path is hits_path is fates_path is None:
        raise ParkfError("nothing to simulate: give a file for the true states, the hits or the fates")
    if (hits_before or 0) % EVENTS_PER_PIECE:
        raise ParkfError(f"hits-before: got {hits_before}, expected a multiple of {EVENTS_PER_PIECE}")
    threads = threads or default_workers()
    carry = partial(track_through, field, polarity, geometry, seed=seed, threads=threads)
    with ExitStack() as stack:
        writers = {
            kind.name: stack.enter_context(kind.writer(path))
            for kind, path in ((STATES, states_path), (HITS, hits_path), (FATES, fates_path))
            if path is not None
        }

        def write(kind: Table, columns: Columns) -> None:
            writers[kind.name].write_table(table(columns, kind.schema))

        bar, count = stack.enter_context(progress_bar("transport", "events")), 0
        for particles in read_by_event(PARTICLES, particles_path, events=EVENTS_PER_PIECE):
            check_particles(particles, particles_path)
            count += len(particles["event"])
            # If only states are wanted, only particles with selected states need to be transported.
            states_alone = hits_path is fates_path is None or (
                hits_before is not None and particles["event"][0] >= hits_before
            )
            if states_alone and states_path is None:
                break
            if states_alone:
                particles = select(particles, select_particles(particles))
            mothers = mothers_of(particles)
            states = carry(select(particles, mothers < 0), long_only=states_alone)
            if STATES.name in writers:
                written = _worth_training(states, particles)
                write(STATES, written | {"polarity": np.full(len(written["z"]), polarity)})
            bar.update(EVENTS_PER_PIECE)
            if states_alone:
                continue
            if (mothers >= 0).any():
                products = placed(particles, mothers, states, field=field, polarity=polarity)
                states = _with_products(states, carry(products), particles, mothers)
            if HITS.name in writers:
                write(HITS, respond(states, geometry=geometry, seed=seed, crowded=crowded))
            if FATES.name in writers:
                # The last state of each particle has its hardest scattering up to that state.
                write(FATES, select(states, np.diff(particle_key(states), append=-1) != 0))
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
