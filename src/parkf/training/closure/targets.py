"""New targets for the table's tx: rays carried on through the SciFi, by Runge–Kutta and by the forms.

The misfit of the forms is converted to a change of tx. The conversion uses the response of the fitted q/p to
the hits behind the magnet, which is measured with the fit itself.
"""

from dataclasses import dataclass, replace

import numpy as np

from parkf.detector.field import FieldMap
from parkf.detector.geometry import SCIFI_PLANES, Geometry
from parkf.detector.transport import propagate
from parkf.fit import fit
from parkf.fit.candidates import Candidates
from parkf.io.option_types import Scheme
from parkf.model.codegen.numpy_step import numpy_step
from parkf.model.layout import HEADER
from parkf.model.steps import FORMS
from parkf.model.steps.scifi import GAPS
from parkf.params.parameter_set import ParameterSet
from parkf.training.closure.sample import Tracks
from parkf.training.magnet_table.form import F64
from parkf.training.magnet_table.rays import TEST_TOLERANCE, Rays

# Shift of the hits, mm: far below the error of a hit, far above rounding in float64.
SHIFT = 1e-3
# The response is assumed constant within a bin of p. These are the edges of the bins, in MeV, and the number
# of tracks that a bin needs.
EDGES = np.geomspace(1400.0, 120e3, 13)
FEWEST = 50


@dataclass(frozen=True)
class Response:
    """Derivatives of the fitted q/p with respect to the hits in the SciFi's layers, by momentum.

    `share` is the increase of the table's tx at z_out, rad/mm, that keeps q/p unchanged when the hit in a
    layer is farther out than the forms predict. `gain` is the relative decrease of q/p divided by the
    relative increase of the table's bend of tx. It is near one if only the slope behind the magnet measures
    the bend.
    """

    p: F64  # middles of the momentum bins, (bins,), MeV
    share: F64  # (bins, 12)
    gain: F64  # (bins,)

    def shares_at(self, p: F64) -> F64:
        """Share of each layer (n, 12) at momenta (n,) in MeV."""
        return np.stack([np.interp(np.log(p), np.log(self.p), column) for column in self.share.T], axis=1)

    def gain_at(self, p: F64) -> F64:
        """Gain (n,) at momenta (n,) in MeV."""
        return np.asarray(np.interp(np.log(p), np.log(self.p), self.gain))


def measure_response(
    parameters: ParameterSet, tracks: Tracks, bend: F64, *, scheme: Scheme = "smoother", threads: int
) -> Response:
    """Fit tracks once more with each SciFi layer moved.

    Only tracks with a hit in every layer are used; some thousands are enough. `bend` (n,) is the increase of
    their tx by the table, over q/p at production, in MeV. The result does not depend on `threads`.
    """
    candidates = tracks.candidates

    def moved(layer: int) -> Candidates:
        x = candidates.scifi[0].copy()
        x[:, layer] += SHIFT
        return replace(candidates, scifi=(x, *candidates.scifi[1:]))

    def fitted(some: Candidates) -> F64:
        return fit(parameters, some, scheme=scheme, precision="float64", threads=threads).qop

    before, layers = fitted(candidates), range(candidates.scifi[0].shape[1])
    moves = np.stack([(fitted(moved(layer)) - before) / SHIFT for layer in layers], axis=1)
    z_out = float(parameters.block("UTT_META")[0, HEADER.index("z_out")])
    way = parameters.block("TLayer")[0].astype(np.float64) - z_out
    # Derivative of q/p by a slope behind the magnet, which moves the hits of all layers together.
    together = moves @ way
    whole = np.isfinite(candidates.scifi[0]).all(axis=1) & np.isfinite(moves).all(axis=1)
    p = 1 / np.abs(tracks.true_qop)
    bins = np.searchsorted(EDGES, p) - 1
    middles, shares, gains = [], [], []
    for number in range(len(EDGES) - 1):
        chosen = whole & (bins == number)
        if chosen.sum() >= FEWEST:
            middles.append(np.sqrt(EDGES[number] * EDGES[number + 1]))
            share = np.median(moves[chosen] / together[chosen, None], axis=0)
            # The medians of the layers do not add up to one exactly, so they are normalised.
            shares.append(share / (share @ way))
            gains.append(float(np.median(together[chosen] * bend[chosen])))
    return Response(np.array(middles), np.array(shares), np.array(gains))


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

    The h of the rays is its value after the energy loss before the bend. `loss` (12,) is the momentum in MeV
    that is lost between production and each layer. Return the n rays that cross the last layer's sensitive
    area, and the increase of tx (n,), rad, that removes the bias of q/p from the misfit of the forms. The
    result does not depend on `threads`.
    """
    planes = geometry.planes()[SCIFI_PLANES]
    step = FORMS[parameters.manifest.forms].steps["UTTF"]
    before = float(parameters.block("UTTF")[0, step.indices("loss")[0]])
    here = np.abs(rays.qop)
    # Solves k_here = k(1 + loss·|k|) for k.
    qop = rays.qop * 2 / (1 + np.sqrt(1 + 4 * here * before))
    exact = np.column_stack([rays.end, rays.qop])
    form = {"x0": rays.end[:, 0], "y0": rays.end[:, 1], "tx0": rays.end[:, 2], "ty0": rays.end[:, 3]}
    z = z_form = np.full(len(rays), geometry.magnet.z_out)
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
        exact, z = there.states.copy(), np.where(reached, there.z, geometry.magnet.z_out)
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
    """Carry rays by a step of the forms to a layer, each ray with the parameters of its side of y = 0."""
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
