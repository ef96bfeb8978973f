"""New targets for the table's tx: rays carried on through the SciFi, by Runge–Kutta and by the forms."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parkf.detector.field import FieldMap
from parkf.detector.geometry import SCIFI_PLANES, Geometry
from parkf.detector.transport import propagate
from parkf.model.codegen.numpy_step import numpy_step
from parkf.model.steps import FORMS
from parkf.model.steps.scifi import GAPS
from parkf.params.parameter_set import ParameterSet
from parkf.training.closure.response import Response
from parkf.training.magnet_table.rays import TEST_TOLERANCE, Rays

F64 = NDArray[np.float64]


@dataclass(frozen=True)
class Carried:
    """Rays behind the magnet.

    `reached` (n,) marks the rays that cross the last layer's sensitive area. `missed` (n, 12) is how much
    farther out Runge–Kutta is than the forms at each layer, in mm along the measured direction; NaN where
    a ray is not `reached`.
    """

    reached: NDArray[np.bool_]
    missed: F64


def carry_on(
    parameters: ParameterSet, rays: Rays, *, field: FieldMap, geometry: Geometry, loss: F64, threads: int
) -> Carried:
    """Carry rays from z_out to every SciFi layer.

    Parameters
    ----------
    rays : Rays
        n rays at both ends of the magnet, with h after the energy loss before the bend.
    loss : (12,) float64
        Momentum lost since production at each layer, MeV.
    threads : int
        The result does not depend on it.
    """
    planes = geometry.planes()[SCIFI_PLANES]
    before = _loss_before_bend(parameters)
    here = np.abs(rays.qop)
    # Solves k_here = k(1 + loss·|k|) for k.
    qop = rays.qop * 2 / (1 + np.sqrt(1 + 4 * here * before))
    exact = np.column_stack([rays.end, rays.qop])
    form = {"x0": rays.end[:, 0], "y0": rays.end[:, 1], "tx0": rays.end[:, 2], "ty0": rays.end[:, 3]}
    z = np.full(len(rays), geometry.z_out)
    z_form = z
    reached = np.ones(len(rays), bool)
    missed = np.full((len(rays), len(planes)), np.nan)
    slopes = parameters.block("TLayer")[2].astype(np.float64)
    for layer, plane in enumerate(planes):
        p = 1 / here + before - loss[layer]
        exact[:, 4] = np.sign(rays.qop) / p
        there = propagate(
            field,
            +1,
            np.where(reached[:, None], exact, 0.0),
            z,
            tuple(plane),
            tolerance=TEST_TOLERANCE,
            threads=threads,
        )
        reached &= there.ok
        exact, z = there.states.copy(), np.where(reached, there.z, geometry.z_out)
        form, z_form = _step(parameters, layer, form, qop, z_form, plane)
        missed[:, layer] = (exact[:, 0] - form["x0"]) - slopes[layer] * (exact[:, 1] - form["y0"])
    last = geometry.scifi.layers[-1]
    reached &= (np.abs(exact[:, 0]) < last.half_width) & (np.abs(exact[:, 1]) < last.half_height)
    missed[~reached] = np.nan
    return Carried(reached, missed)


def wanted_slope(carried: Carried, rays: Rays, response: Response) -> F64:
    """Increase of tx, (n,) rad, that keeps q/p unbiased by what the forms miss in `carried`."""
    return np.asarray((response.shares_at(1 / np.abs(rays.qop)) * carried.missed).sum(axis=1))


def _step(
    parameters: ParameterSet, layer: int, state: dict[str, F64], qop: F64, z: F64, plane: F64
) -> tuple[dict[str, F64], F64]:
    """One step of the forms, to a layer; each ray by the parameters of its side."""
    name = "TFT" if layer == 0 else "T"
    step = FORMS[parameters.manifest.forms].steps[name]
    functions, numbers = numpy_step(step), parameters.block(name).astype(np.float64)
    target = (plane[0] + plane[2] * (state["y0"] - state["ty0"] * z)) / (1 - plane[2] * state["ty0"])
    rows = {**state, "qop": qop, "polarity": np.ones(len(qop)), "z0": z, "z1": target}
    sides = len(numbers) // GAPS if name == "T" else 1
    ends = None
    for side in range(sides):
        index = sides * (layer - 1) + side if name == "T" else 0
        here = np.stack(functions.predict(numbers[index], rows))
        ends = here if ends is None else np.where(state["y0"] < 0, here, ends)
    assert ends is not None
    return dict(zip(("x0", "y0", "tx0", "ty0"), ends, strict=True)), target


def _loss_before_bend(parameters: ParameterSet) -> float:
    (index,) = FORMS[parameters.manifest.forms].steps["UTTF"].indices("loss")
    return float(parameters.block("UTTF")[0, index])
