"""Step datasets of a chunk of a sample, from simulated particles and their true states.

Each row holds the true state at a step's origin, the true state at its target, and the origin carried to the
target's z by Runge–Kutta with the true local momentum and without material. A step function has to reproduce
the carried state; the difference of the true state from it is the scattering.

A state is recorded in the middle of a layer. The second half of the last UT layer's material therefore lies
between that state and z_in, where the fit adds no scattering. So the hop through the magnet starts from the
state in that layer, carried to z_in, and the scattering in the half layer counts for this step.
"""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.detector.description import Beam
from parkf.detector.field import FieldMap
from parkf.detector.geometry import UT_PLANES
from parkf.detector.transport import propagate
from parkf.io.events import Columns, select
from parkf.io.tables import STEP_DATA
from parkf.io.terminal import progress_bar
from parkf.training.datasets.carry import COMPONENTS
from parkf.training.datasets.gather import RowsBySet
from parkf.training.datasets.legs import BEAM_LINE_SET, EVENTS_PER_PIECE, SETS, Legs, Piece, read_pieces
from parkf.training.datasets.lottery import load_thresholds, lottery


def build_rows(
    particles: Path,
    states: Path,
    thresholds: Path,
    folder: Path,
    *,
    beam: Beam,
    field: FieldMap,
    threads: int | None = None,
) -> None:
    """Write the rows of a chunk that are kept, tables `STEP_DATA` at ``<folder>/<step>.parquet``.

    The chunk's tables PARTICLES and STATES are sorted by event and particle, and of one polarity; thresholds
    are those of :func:`parkf.training.datasets.lottery.find_thresholds`. A row group holds rows of one set,
    or of two that are `TOGETHER`, in the order of their tracks. The result does not depend on `threads`.
    """
    limits = load_thresholds(thresholds)
    with ExitStack() as stack:
        writers = {
            step: RowsBySet(stack.enter_context(STEP_DATA.writer(folder / f"{step}.parquet")), step)
            for step in SETS
        }
        bar = stack.enter_context(progress_bar("step datasets", "events"))
        for piece in read_pieces(particles, states, beam):
            numbers = lottery(piece)
            for step, legs in piece.legs.items():
                kept = legs[:, numbers[legs[0]] <= limits[step][legs[2]]]
                writers[step].add(_rows(piece, kept, step, beam, field, threads))
            bar.update(EVENTS_PER_PIECE)
        for writer in writers.values():
            writer.finish()


def _rows(
    piece: Piece, legs: Legs, step: str, beam: Beam, field: FieldMap, threads: int | None
) -> dict[str, NDArray[Any]]:
    """Columns of STEP_DATA for some legs of a step; rows whose extrapolation leaves the map are left out."""
    states, (at_origin, at_target, number) = piece.states, legs
    particles = select(piece.particles, piece.row[at_origin])
    origin, target = _states(states, at_origin), _states(states, at_target)
    z_origin, z_target, p_origin = states["z"][at_origin], states["z"][at_target], states["p"][at_origin]
    good = np.ones(len(z_origin), bool)
    p_production = np.sqrt(particles["px"] ** 2 + particles["py"] ** 2 + particles["pz"] ** 2)
    qop = particles["charge"] / p_production
    if step == "BEAM":
        to_beam = np.flatnonzero(number == BEAM_LINE_SET)
        # The target is the point of the straight line that is closest to the beam axis.
        x, y, tx, ty = origin[to_beam].T
        z_target[to_beam] = z_origin[to_beam] - (tx * (x - beam.x) + ty * (y - beam.y)) / (tx**2 + ty**2)
        x, y, z, px, py, pz = (particles[name][to_beam] for name in ("x", "y", "z", "px", "py", "pz"))
        vertex = np.column_stack([x, y, px / pz, py / pz, qop[to_beam]])
        moved = propagate(field, piece.polarity, vertex, z, (z_target[to_beam], 0.0, 0.0), threads=threads)
        target[to_beam], good[to_beam] = moved.states[:, :4], moved.ok
    if step == "UTTF":
        # Start from the plane before z_in, which is the last UT layer, if the particle crossed it.
        before = at_origin - 1
        crossed = (before >= 0) & (states["plane"][before] == UT_PLANES[-1]) & states["active"][before]
        for name in ("event", "particle"):
            crossed &= states[name][before] == states[name][at_origin]
        before = before[crossed]
        local_qop = piece.particles["charge"][piece.row[before]] / states["p"][before]
        start = np.column_stack([_states(states, before), local_qop])
        z_in = (z_origin[crossed], 0.0, 0.0)
        moved = propagate(field, piece.polarity, start, states["z"][before], z_in, threads=threads)
        origin[crossed], good[crossed] = moved.states[:, :4], moved.ok
    start = np.column_stack([origin, particles["charge"] / p_origin])
    moved = propagate(field, piece.polarity, start, z_origin, (z_target, 0.0, 0.0), threads=threads)
    good &= moved.ok
    columns = {
        "event": states["event"][at_origin],
        "particle": states["particle"][at_origin],
        "pdg_id": particles["pdg_id"],
        "charge": particles["charge"],
        "polarity": np.full(len(good), piece.polarity),
        "set": number,
        "qop": qop,
        "z0": z_origin,
        "z1": z_target,
        "p_true": p_origin,
    }
    for end, reached in (("0", origin), ("1", target), ("e", moved.states)):
        columns |= {f"{name}{end}": reached[:, i] for i, name in enumerate(COMPONENTS)}
    return {name: columns[name][good].astype(kind.to_pandas_dtype()) for name, kind in STEP_DATA.columns}


def _states(states: Columns, rows: NDArray[np.int64]) -> NDArray[Any]:
    return np.column_stack([states[name][rows] for name in COMPONENTS])
