"""Fits of p: the form follows the Runge–Kutta extrapolation. Slopes come first, since positions use them."""

import numpy as np

from parkf.io.errors import ParkfError
from parkf.model.codegen.numpy_step import NumpyStep
from parkf.training.minimise import Fits, Floating
from parkf.training.result import Minimum
from parkf.training.rows import F64, Rows, residuals

# Slopes come before positions, which use them, and ty before tx, which may use it. x comes before y, because
# y determines shared parameters less well.
ORDER = ("ty", "tx", "x", "y")
# The weight of a residual falls beyond this scale, in units of σ_MS; below it the loss is nearly quadratic.
# The misfit of a form is hardly ever so large: such a track has lost much of its momentum on its path.
REACH = 5.0
# Gauss–Newton steps before Minuit; each must lower the RMS of the residuals by a hundredth.
MOST_STEPS = 10


# RMS of δ_par, in units of σ_MS, that is only rounding: with parameters of zero, the form follows Runge–Kutta
# exactly where there is no field.
ROUNDING = 1e-8


def fit_extrapolation(functions: NumpyStep, fits: Fits, start: F64) -> tuple[F64, list[Minimum], str]:
    """Fit the parameters of the state's formulas, component by component.

    `start` (m,) float64 has all parameters of the set. Return it with the fitted parameters filled in, a
    minimum for each component whose fit had parameters to determine, and a note on those that the rows do not
    determine: they are zero.
    """
    values, minima, fixed = start.copy(), [], []
    step = functions.step
    left = list(step.indices("extrapolation"))
    for component in ORDER:
        own = [i for i in left if step.symbols[i] in step.outputs[component].free_symbols]
        left = [i for i in left if i not in own]
        if own and _is_straight(functions, fits, values, component, own):
            values[own] = 0.0
            fixed += [f"p{i}" for i in own]
        elif own:
            minimum = _fit_component(functions, fits, values, component, own)
            values[own] = minimum.values[: len(own)]
            minima.append(minimum)
    note = f"{', '.join(fixed)} fixed at zero: the rows have no bend that determines them" if fixed else ""
    return values, minima, note


def _is_straight(functions: NumpyStep, fits: Fits, p: F64, component: str, own: list[int]) -> bool:
    """Whether the form follows Runge–Kutta to rounding with these parameters at zero."""
    at_zero, rows = p.copy(), fits.sample
    at_zero[own] = 0.0
    with np.errstate(all="ignore"):
        off = residuals(functions.predict(at_zero, rows), rows, "e")[component]
        square = (off / scattering_weights(functions, rows, p, component)) ** 2
    return bool(np.sqrt(np.mean(square)) < ROUNDING)


def scattering_weights(functions: NumpyStep, rows: Rows, p: F64, component: str) -> F64:
    """Return σ_MS up to a factor, (n,), the unit of δ_par in the fit; ∝ 1/p if the step has no scattering."""
    if functions.step.noise:
        return functions.noise(p, rows)[component]
    return np.abs(rows["qop"])


def _fit_component(functions: NumpyStep, fits: Fits, p: F64, component: str, own: list[int]) -> Minimum:
    """Maximise Π N(form − Runge–Kutta; θ·σ_MS) with p and log θ floating.

    The squares in the exponent are s²·ln(1 + δ²/s²), s = `REACH`·σ_MS, which reduces the weight of outliers.
    """

    def pulls(vector: F64, rows: Rows, weights: F64) -> F64:
        return residuals(functions.predict(vector[:-1], rows), rows, "e")[component] / weights

    def designs(vector: F64, rows: Rows, weights: F64) -> F64:
        return functions.gradient(component, vector[:-1], rows, own).T / weights

    def likelihood(vector: F64, rows: Rows) -> tuple[F64, F64]:
        weights = scattering_weights(functions, rows, p, component)
        pull = pulls(vector, rows, weights)
        excess = pull**2 / REACH**2
        precision = np.exp(-2 * vector[-1])
        square = precision * REACH**2 * np.log1p(excess)
        d_pull = precision * pull / (1 + excess)
        nll = 0.5 * square + vector[-1] + np.log(weights * np.sqrt(2 * np.pi))
        return nll, np.vstack([d_pull * designs(vector, rows, weights), 1 - square])

    start = np.append(p, 0.0)
    weights = scattering_weights(functions, fits.sample, p, component)
    spread = np.inf
    # Most forms are linear in their parameters, so that the first Gauss–Newton step reaches the minimum. The
    # VELO's form has a product of two parameters and needs more steps.
    for number in range(MOST_STEPS):
        design = designs(start, fits.sample, weights).T
        there = start.copy()
        there[own] -= np.linalg.lstsq(design, pulls(start, fits.sample, weights), rcond=None)[0]
        theta = np.sqrt(np.mean(pulls(there, fits.sample, weights) ** 2))
        if number and not theta < 0.99 * spread:
            break
        start, spread = there, theta
        if not np.isfinite(spread):
            break
    start[-1] = np.log(spread)
    if np.linalg.matrix_rank(design / np.linalg.norm(design, axis=0)) < len(own):
        names = ", ".join(f"p{i}" for i in own)
        raise ParkfError(f"{fits.where}: fit of {component}: the rows do not determine all of {names}")
    directions = np.zeros((len(own) + 1, len(own) + 1))
    directions[:-1, :-1] = spread * np.linalg.inv(np.linalg.qr(design, mode="r"))
    directions[-1, -1] = 1 / np.sqrt(2 * len(design))
    return fits.minimise(
        likelihood,
        start,
        [*(Floating(i, f"p{i}") for i in own), Floating(len(p), "log_theta")],
        directions,
        target=component,
        kind="extrapolation",
    )
