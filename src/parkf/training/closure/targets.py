"""New targets for the table's tx: rays carried on through the SciFi, by Runge–Kutta and by the forms."""

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


def new_targets(
    parameters: ParameterSet,
    response: Response,
    loss: F64,
    geometry: Geometry,
    field: FieldMap,
    threads: int,
    rays: Rays,
) -> tuple[Rays, F64]:
    """Carry rays from z_out to every SciFi layer, and compare Runge–Kutta there with the forms.

    The h of the rays is that after the energy loss before the bend; `loss` (12,) is the momentum lost since
    production at each layer, MeV. Return the n rays that cross the last layer's sensitive area, and the
    increase of tx (n,), rad, that keeps q/p unbiased by what the forms miss. The result does not depend on
    `threads`.
    """
    planes = geometry.planes()[SCIFI_PLANES]
    step = FORMS[parameters.manifest.forms].steps["UTTF"]
    before = float(parameters.block("UTTF")[0, step.indices("loss")[0]])
    here = np.abs(rays.qop)
    # Solves k_here = k(1 + loss·|k|) for k.
    qop = rays.qop * 2 / (1 + np.sqrt(1 + 4 * here * before))
    exact = np.column_stack([rays.end, rays.qop])
    form = {"x0": rays.end[:, 0], "y0": rays.end[:, 1], "tx0": rays.end[:, 2], "ty0": rays.end[:, 3]}
    z = np.full(len(rays), geometry.z_out)
    z_form = z
    reached = np.ones(len(rays), bool)
    # How much farther out Runge–Kutta is than the forms at each layer, in mm along the measured direction.
    missed = np.full((len(rays), len(planes)), np.nan)
    slopes = parameters.block("TLayer")[2].astype(np.float64)
    for layer, plane in enumerate(planes):
        p = 1 / here + before - loss[layer]
        exact[:, 4] = np.sign(rays.qop) / p
        start = np.where(reached[:, None], exact, 0.0)
        there = propagate(field, +1, start, z, tuple(plane), tolerance=TEST_TOLERANCE, threads=threads)
        reached &= there.ok
        exact, z = there.states.copy(), np.where(reached, there.z, geometry.z_out)
        form, z_form = _step(parameters, layer, form, qop, z_form, plane)
        missed[:, layer] = (exact[:, 0] - form["x0"]) - slopes[layer] * (exact[:, 1] - form["y0"])
    last = geometry.scifi.layers[-1]
    reached &= (np.abs(exact[:, 0]) < last.half_width) & (np.abs(exact[:, 1]) < last.half_height)
    missed[~reached] = np.nan
    wanted = (response.shares_at(1 / here) * missed).sum(axis=1)
    return rays[reached], wanted[reached]


def _step(
    parameters: ParameterSet, layer: int, state: dict[str, F64], qop: F64, z: F64, plane: F64
) -> tuple[dict[str, F64], F64]:
    """One step of the forms, to a layer; each ray by the parameters of its side."""
    name = "TFT" if layer == 0 else "T"
    functions = numpy_step(FORMS[parameters.manifest.forms].steps[name])
    sets = parameters.block(name).astype(np.float64)
    if name == "T":
        sides = len(sets) // GAPS
        sets = sets[sides * (layer - 1) : sides * layer]
    target = (plane[0] + plane[2] * (state["y0"] - state["ty0"] * z)) / (1 - plane[2] * state["ty0"])
    rows = {**state, "qop": qop, "polarity": np.ones(len(qop)), "z0": z, "z1": target}
    ends = [np.stack(functions.predict(numbers, rows)) for numbers in sets]
    # The second side is that below y = 0.
    end = ends[0] if len(ends) == 1 else np.where(state["y0"] < 0, ends[1], ends[0])
    return dict(zip(("x0", "y0", "tx0", "ty0"), end, strict=True)), target
