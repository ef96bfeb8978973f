"""Effect of the difference of two sets: the change of predicted states, in units of the scattering.

The first set extrapolates tracks of a fixed sample through the detector, without scattering. At every step
both sets start from the same state; the difference of their predictions is divided by σ_MS of the first set.
The tracks start in the middle of the beam line. They cover 2 < η < 5, all φ, momenta from 1.5 to 100 GeV, and
both charges and polarities.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parkf.model.codegen.numpy_step import BEFORE_COLUMNS, numpy_step
from parkf.model.steps.frozen import forms_of
from parkf.params.parameter_set import ParameterSet
from parkf.training.magnet_table import MagnetTable
from parkf.training.magnet_table.form import inside_grid
from parkf.training.rows import COMPONENTS, Rows, select
from parkf.training.spread import momentum_bins

F64 = NDArray[np.float64]

TRACKS = 6000
VELO_END, VELO_GAP = 700.0, 25.0


@dataclass(frozen=True)
class Change:
    """RMS and maximum of a component's change, divided by σ_MS, in a bin of momentum (GeV)."""

    step: str
    component: str
    p_min: float
    p_max: float
    rms: float
    largest: float


def changes(first: ParameterSet, second: ParameterSet) -> list[Change]:
    """Change of the predicted state from the first set to the second, by step, component and momentum."""
    return [
        Change(
            *(step, component, low, high),
            rms=float(np.sqrt(np.mean(ratio[mask] ** 2))),
            largest=float(np.abs(ratio[mask]).max()),
        )
        for step, qop, differences, sigma in _hops(_Predictor(first), _Predictor(second))
        for component, difference in zip(COMPONENTS, differences.T, strict=True)
        for ratio in [difference / sigma[component]]
        for low, high, mask in momentum_bins(qop)
        if mask.any()
    ]


# A step of the sample: name, q/p (n,), change of the predicted states (n, 4), σ_MS of each component (n,).
_Hop = tuple[str, F64, F64, dict[str, F64]]


class _Predictor:
    """A set's step functions over rows."""

    def __init__(self, parameters: ParameterSet) -> None:
        self.parameters = parameters
        forms = forms_of(parameters.manifest.forms, parameters.manifest.formulas)
        self.steps = {name: numpy_step(step) for name, step in forms.steps.items()}

    def numbers(self, name: str, number: int) -> F64:
        """Return the parameters of a step, by the number of its dataset."""
        row = number // self.steps[name].step.joined
        return self.parameters.block(name)[row].astype(np.float64)

    def predict(self, name: str, number: int, rows: Rows) -> F64:
        """Return the state at z1, (n, 4)."""
        return np.column_stack(self.steps[name].predict(self.numbers(name, number), rows))

    def magnet(self, rows: Rows) -> F64:
        """Return the state at z_out of rows at z_in, (n, 4)."""
        local = self.steps["UTTF"].local_qop(self.numbers("UTTF", 0), rows["qop"])
        table = MagnetTable(self.parameters.block("UTT_META")[0], self.parameters.table)
        ends = table.extrapolate(_states(rows), local, rows["polarity"])
        return self.predict("UTTF", 0, _at(rows, ends))


def _hops(a: _Predictor, b: _Predictor) -> Iterator[_Hop]:
    rows = _sample()
    for name, number, sign in (("V.forward", 0, 1), ("V.backward", 1, -1)):
        yield _hop(name, "V", number, a, b, _to(rows, rows["z0"] + sign * VELO_GAP))
    ut_z = a.parameters.block("UTLayer")[0].astype(np.float64)
    slopes = [rows["tx0"], rows["ty0"]]
    lines = np.column_stack([slopes[0] * VELO_END, slopes[1] * VELO_END, *slopes])
    rows = _to(_at(_to(rows, VELO_END), lines), ut_z[0])
    yield _hop("VUT", "VUT", 0, a, b, rows)
    rows = _at(rows, a.predict("VUT", 0, rows))
    for gap in range(3):
        begin, rows = rows["z0"], _to(rows, ut_z[gap + 1])
        yield _hop(f"UT.gap{gap}", "UT", gap, a, b, rows)
        rows = _at(rows, a.predict("UT", gap, rows))
        yield _hop(f"UT.gap{gap} back", "UT", 3 + gap, a, b, _to(rows, begin))
    z_in, z_out = a.parameters.block("UTT_META")[0, :2].astype(np.float64)
    rows = _to(rows, z_in)
    rows = _to(_at(rows, a.predict("UT", 2, rows)), z_out)
    rows = select(rows, inside_grid(a.parameters.block("UTT_META")[0], _states(rows)))
    yield from _behind_the_magnet(a, b, rows)


def _behind_the_magnet(a: _Predictor, b: _Predictor, rows: Rows) -> Iterator[_Hop]:
    ends = a.magnet(rows)
    before = dict(zip(BEFORE_COLUMNS, _states(rows).T, strict=True))
    sigma = a.steps["UTTF"].noise(a.numbers("UTTF", 0), _at(rows, ends) | before)
    yield "magnet", rows["qop"], b.magnet(rows) - ends, sigma
    # Tracks outside of the detector are left out.
    inside = np.all(np.abs(ends[:, :2]) < [3000.0, 2500.0], axis=1)
    rows = select({**_at(rows, ends), **sigma}, np.asarray(inside))
    layers = a.parameters.block("TLayer")[:2].astype(np.float64)
    # The scattering of this step is included in the scattering of the step before.
    sigma = {component: rows.pop(component) for component in (*COMPONENTS, "rho_x", "rho_y")}
    rows = _to_plane(rows, layers[:, 0])
    ends = a.predict("TFT", 0, rows)
    yield "TFT", rows["qop"], b.predict("TFT", 0, rows) - ends, sigma
    for gap in range(11):
        rows = _to_plane(_at(rows, ends), layers[:, gap + 1])
        ends = np.empty((len(rows["qop"]), 4))
        for side, mask in enumerate((rows["y0"] >= 0, rows["y0"] < 0)):
            part, number = select(rows, mask), 2 * gap + side
            ends[mask] = a.predict("T", number, part)
            yield _hop(f"T.gap{gap}{' up' if side == 0 else ' down'}", "T", number, a, b, part)


def _hop(label: str, name: str, number: int, a: _Predictor, b: _Predictor, rows: Rows) -> _Hop:
    difference = b.predict(name, number, rows) - a.predict(name, number, rows)
    return label, rows["qop"], difference, a.steps[name].noise(a.numbers(name, number), rows)


def _sample() -> Rows:
    """Return rows at VELO hits along the beam line, on lines from (0, 0, 0)."""
    random = np.random.Generator(np.random.Philox(key=[2026, 6]))
    eta, phi = random.uniform(2, 5, TRACKS), random.uniform(0, 2 * np.pi, TRACKS)
    slope = 1 / np.sinh(eta)
    momentum = np.exp(random.uniform(np.log(1500), np.log(100_000), TRACKS))
    charge, polarity = random.choice([-1.0, 1.0], (2, TRACKS))
    z = random.uniform(0, VELO_END, TRACKS)
    tx, ty = slope * np.cos(phi), slope * np.sin(phi)
    columns = {"qop": charge / momentum, "polarity": polarity, "z0": z, "z1": z}
    return {**columns, "x0": tx * z, "y0": ty * z, "tx0": tx, "ty0": ty}


def _states(rows: Rows) -> F64:
    return np.column_stack([rows[name] for name in ("x0", "y0", "tx0", "ty0")])


def _at(rows: Rows, states: F64) -> Rows:
    """Return the rows with these states at their z1, where the next step begins."""
    x, y, tx, ty = states.T
    return {**rows, "x0": x, "y0": y, "tx0": tx, "ty0": ty, "z0": rows["z1"]}


def _to(rows: Rows, z1: float | F64) -> Rows:
    """Return the rows for a step to z1."""
    return {**rows, "z1": np.full(len(rows["z0"]), z1)}


def _to_plane(rows: Rows, layer: F64) -> Rows:
    """Return the rows for a step along the straight line to a SciFi layer, (z at y = 0, dy/dz)."""
    plane, lean = layer[0], 1 / layer[1]
    z1 = rows["z0"] + (plane + lean * rows["y0"] - rows["z0"]) / (1 - lean * rows["ty0"])
    return {**rows, "z1": z1}
