"""Step datasets from simulated particles and their true states.

Each row holds the true state at a step's origin, the true state at its target, and the origin carried to the
target's z by Runge-Kutta with the true local momentum and without material: what a step function has to
reproduce, and what scattering adds.

A state is recorded in the middle of a layer: the second half of the last UT layer's material lies before
z_in, on a way that the fit goes without scattering. The hop through the magnet therefore starts from the
state in that layer, carried to z_in: what the half layer does is scattering of this step.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from tqdm import tqdm

from parkf.datasets.legs import BEAM_LINE_SET, SETS, Legs, legs_of_steps, select_particles
from parkf.detector.field import FieldMap
from parkf.detector.geometry import UT_PLANES, Beam, Geometry
from parkf.errors import ParkfError
from parkf.simulation.events import particle_key, read_by_event
from parkf.tables import PARTICLES, STATES, STEP_DATA
from parkf.transport import propagate

EVENTS_PER_PIECE = 100

FROM_BEAM = 0.5
"""mm; a particle produced this close to the beam axis starts there."""

_COORDINATES = ("x", "y", "tx", "ty")


def build_step_datasets(
    particles: Sequence[Path],
    states: Sequence[Path],
    folder: Path,
    *,
    geometry: Geometry,
    field: FieldMap,
    max_rows: int,
    threads: int | None = None,
) -> None:
    """Write one dataset a step, ``<folder>/<step>.parquet``, from samples of any polarity.

    Parameters
    ----------
    particles, states : sequences of Path
        Tables PARTICLES and STATES of each sample, sorted by event; every sample of one polarity.
    folder : Path
        Takes the tables `parkf.tables.STEP_DATA`.
    geometry : Geometry
        Gives the beam line.
    field : FieldMap
        The map of the samples.
    max_rows : int
        Rows kept in a dataset, shared equally among the step's parameter sets. Which rows, depends on their
        event and particle only.
    threads : int, optional
        All cores by default; the result does not depend on it.

    Raises
    ------
    ParkfError
        When the numbers of files differ, or files cannot be read or do not belong together.
    """
    if len(particles) != len(states):
        raise ParkfError(f"{len(particles)} particle files and {len(states)} state files, expected as many")
    samples = [_Sample(*sample) for sample in zip(particles, states, strict=True)]
    beam = geometry.beam
    thresholds = _thresholds(samples, beam, max_rows)
    with ExitStack() as stack:
        writers = {step: stack.enter_context(STEP_DATA.writer(folder / f"{step}.parquet")) for step in SETS}
        bar = stack.enter_context(tqdm(desc="step datasets", unit=" events", disable=None))
        for sample in samples:
            for piece in _pieces(sample, beam):
                for step, legs in piece.legs.items():
                    kept = _thin(piece, step, legs, thresholds[step])
                    columns = _rows(piece, kept, step, beam, field, threads)
                    writers[step].write_table(pa.table(columns, schema=STEP_DATA.schema))
                bar.update(EVENTS_PER_PIECE)


@dataclass(frozen=True)
class _Sample:
    particles: Path
    states: Path


@dataclass(frozen=True)
class _Piece:
    """Some events of a sample: states, the particles' columns for each state, and the legs of all steps."""

    polarity: int
    states: dict[str, np.ndarray]
    particles: dict[str, np.ndarray]
    legs: dict[str, Legs]


def _pieces(sample: _Sample, beam: Beam) -> Iterator[_Piece]:
    particle_pieces = read_by_event(PARTICLES, sample.particles, events=EVENTS_PER_PIECE)
    for states in read_by_event(STATES, sample.states, events=EVENTS_PER_PIECE):
        number = states["event"][0] // EVENTS_PER_PIECE
        particles = next(
            (piece for piece in particle_pieces if piece["event"][0] // EVENTS_PER_PIECE == number), None
        )
        if particles is None:
            raise ParkfError(f"{sample.particles}: lacks events of {sample.states}")
        known, wanted = particle_key(particles), particle_key(states)
        row = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        unknown = np.flatnonzero(known[row] != wanted)
        if len(unknown):
            event, particle = states["event"][unknown[0]], states["particle"][unknown[0]]
            raise ParkfError(
                f"{sample.particles}: particle {particle} of event {event} of {sample.states} is missing"
            )
        from_beam = np.hypot(particles["x"] - beam.x, particles["y"] - beam.y) < FROM_BEAM
        track = np.where(select_particles(particles)[row], row, -1)
        polarity = int(states["polarity"][0])
        if np.any(states["polarity"] != polarity):
            raise ParkfError(f"{sample.states}: column 'polarity' changes, expected one polarity in a sample")
        yield _Piece(
            polarity,
            states,
            {name: values[row] for name, values in particles.items()},
            legs_of_steps(states, track, from_beam),
        )


def _thresholds(samples: list[_Sample], beam: Beam, max_rows: int) -> dict[str, np.ndarray]:
    """For each step and set, the `_lottery` number up to which rows are kept."""
    numbers: dict[str, list[list[np.ndarray]]] = {step: [[] for _ in range(SETS[step])] for step in SETS}
    for sample in samples:
        for piece in _pieces(sample, beam):
            for step, legs in piece.legs.items():
                drawn = _lottery(piece, legs)
                for index in range(SETS[step]):
                    numbers[step][index].append(drawn[legs.set == index])
    thresholds = {}
    for step, sets in numbers.items():
        share = max_rows // SETS[step]
        drawn_of_sets = [np.concatenate(parts) if parts else np.zeros(0, np.uint64) for parts in sets]
        thresholds[step] = np.array(
            [
                np.partition(drawn, share - 1)[share - 1] if len(drawn) > share else np.iinfo(np.uint64).max
                for drawn in drawn_of_sets
            ],
            dtype=np.uint64,
        )
    return thresholds


def _thin(piece: _Piece, step: str, legs: Legs, thresholds: np.ndarray) -> Legs:
    kept = _lottery(piece, legs) <= thresholds[legs.set]
    return Legs(legs.origin[kept], legs.target[kept], legs.set[kept])


def _lottery(piece: _Piece, legs: Legs) -> np.ndarray:
    """Draw a uniform 64-bit number for each leg, from polarity, event, particle and plane (SplitMix64)."""
    states = piece.states
    number = np.full(len(legs.origin), piece.polarity, np.int64).view(np.uint64)
    for name in ("event", "particle", "plane"):
        number = _mixed(number ^ states[name][legs.origin].astype(np.uint64))
    return number


def _mixed(number: np.ndarray) -> np.ndarray:
    number = number + np.uint64(0x9E3779B97F4A7C15)
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))


def _rows(
    piece: _Piece, legs: Legs, step: str, beam: Beam, field: FieldMap, threads: int | None
) -> dict[str, np.ndarray]:
    """Columns of STEP_DATA; rows whose extrapolation leaves the field map are left out."""
    states = piece.states
    particles = {name: values[legs.origin] for name, values in piece.particles.items()}
    origin, z_origin, p_origin = (
        _states(states, legs.origin),
        states["z"][legs.origin],
        states["p"][legs.origin],
    )
    target, z_target = _states(states, legs.target), states["z"][legs.target]
    good = np.ones(len(z_origin), bool)
    p_production = np.sqrt(particles["px"] ** 2 + particles["py"] ** 2 + particles["pz"] ** 2)
    qop = particles["charge"] / p_production
    if step == "BEAM":
        to_beam = np.flatnonzero(legs.set == BEAM_LINE_SET)
        z_target[to_beam] = _closest_approach(origin[to_beam], z_origin[to_beam], beam)
        x, y, z, px, py, pz = (particles[name][to_beam] for name in ("x", "y", "z", "px", "py", "pz"))
        vertex = np.column_stack([x, y, px / pz, py / pz, qop[to_beam]])
        moved = propagate(field, piece.polarity, vertex, z, (z_target[to_beam], 0.0, 0.0), threads=threads)
        target[to_beam] = moved.states[:, :4]
        good[to_beam] = moved.ok
    if step == "UTTF":
        origin, carried = _from_last_ut_layer(piece, legs.origin, origin, field, threads)
        good &= carried
    start = np.column_stack([origin, particles["charge"] / p_origin])
    moved = propagate(field, piece.polarity, start, z_origin, (z_target, 0.0, 0.0), threads=threads)
    good &= moved.ok
    columns = {
        "event": states["event"][legs.origin],
        "particle": states["particle"][legs.origin],
        "pdg_id": particles["pdg_id"],
        "charge": particles["charge"],
        "polarity": np.full(len(good), piece.polarity),
        "set": legs.set,
        "qop": qop,
        "z0": z_origin,
        "z1": z_target,
        "p_true": p_origin,
    }
    for index, name in enumerate(_COORDINATES):
        columns[f"{name}0"] = origin[:, index]
        columns[f"{name}1"] = target[:, index]
        columns[f"{name}e"] = moved.states[:, index]
    return {name: columns[name][good].astype(kind.to_pandas_dtype()) for name, kind in STEP_DATA.columns}


def _from_last_ut_layer(
    piece: _Piece, at_z_in: np.ndarray, recorded: np.ndarray, field: FieldMap, threads: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """States (n, 4) at z_in, from the last UT layer where a particle crossed it, and which came through."""
    states = piece.states
    # The layer is the plane before z_in.
    before = at_z_in - 1
    same = (before >= 0) & (states["plane"][before] == UT_PLANES[-1]) & states["active"][before]
    for name in ("event", "particle"):
        same &= states[name][before] == states[name][at_z_in]
    before, z_in = before[same], states["z"][at_z_in[same]]
    local_qop = piece.particles["charge"][before] / states["p"][before]
    start = np.column_stack([_states(states, before), local_qop])
    moved = propagate(field, piece.polarity, start, states["z"][before], (z_in, 0.0, 0.0), threads=threads)
    origin, good = recorded.copy(), np.ones(len(at_z_in), bool)
    origin[same], good[same] = moved.states[:, :4], moved.ok
    return origin, good


def _states(states: dict[str, np.ndarray], rows: np.ndarray) -> np.ndarray:
    return np.column_stack([states[name][rows] for name in _COORDINATES])


def _closest_approach(states: np.ndarray, z: np.ndarray, beam: Beam) -> np.ndarray:
    """Z where straight lines (n, 4) come closest to the beam axis."""
    x, y, tx, ty = states.T
    return z - (tx * (x - beam.x) + ty * (y - beam.y)) / (tx**2 + ty**2)
