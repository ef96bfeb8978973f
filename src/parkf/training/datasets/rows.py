"""Rows of step datasets from simulated particles and their true states.

Each row holds the true state at a step's origin, the true state at its target, and the origin carried to the
target's z by Runge-Kutta with the true local momentum and without material: what a step function has to
reproduce, and what scattering adds.

A state is recorded in the middle of a layer. The second half of the last UT layer's material therefore lies
between that state and z_in, where the fit adds no scattering. So the hop through the magnet starts from the
state in that layer, carried to z_in, and the scattering in the half layer counts for this step.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.detector.description import Beam
from parkf.detector.field import FieldMap
from parkf.detector.geometry import UT_PLANES
from parkf.detector.transport import propagate
from parkf.io.events import select
from parkf.io.tables import STEP_DATA
from parkf.training.datasets.legs import BEAM_LINE_SET, Legs
from parkf.training.datasets.pieces import Piece

_COORDINATES = ("x", "y", "tx", "ty")


def rows_of_legs(
    piece: Piece, legs: Legs, step: str, *, beam: Beam, field: FieldMap, threads: int | None = None
) -> dict[str, NDArray[Any]]:
    """Columns of STEP_DATA for some legs of a step; rows whose extrapolation leaves the map are left out.

    The beam is the target of the step to the beam line. The result does not depend on `threads`, by
    default all cores.
    """
    states = piece.states
    row = piece.row[legs.origin]
    particles = select(piece.particles, row)
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
    piece: Piece, at_z_in: NDArray[Any], recorded: NDArray[Any], field: FieldMap, threads: int | None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """States (n, 4) at z_in, from the last UT layer where a particle crossed it, and which came through."""
    states = piece.states
    # The layer is the plane before z_in.
    before = at_z_in - 1
    same = (before >= 0) & (states["plane"][before] == UT_PLANES[-1]) & states["active"][before]
    for name in ("event", "particle"):
        same &= states[name][before] == states[name][at_z_in]
    before, z_in = before[same], states["z"][at_z_in[same]]
    local_qop = piece.particles["charge"][piece.row[before]] / states["p"][before]
    start = np.column_stack([_states(states, before), local_qop])
    moved = propagate(field, piece.polarity, start, states["z"][before], (z_in, 0.0, 0.0), threads=threads)
    origin, good = recorded.copy(), np.ones(len(at_z_in), bool)
    origin[same], good[same] = moved.states[:, :4], moved.ok
    return origin, good


def _states(states: dict[str, NDArray[Any]], rows: NDArray[Any]) -> NDArray[Any]:
    return np.column_stack([states[name][rows] for name in _COORDINATES])


def _closest_approach(states: NDArray[Any], z: NDArray[Any], beam: Beam) -> NDArray[Any]:
    """Z where straight lines (n, 4) come closest to the beam axis."""
    x, y, tx, ty = states.T
    return z - (tx * (x - beam.x) + ty * (y - beam.y)) / (tx**2 + ty**2)
