"""Fits of p̃: the process noise describes the scatter of the truth around the form, with p fixed.

First the widths are fitted, each component separately: scattering has different tails in position and in
slope, and an outlier in one may lie at the centre of the other. Then the correlations are fitted, with N₂ of
their covariance. Hard scatters, decays and large energy losses are described by wide tails whose shares
float, so that each core has width one.
"""

import numpy as np

from parkf.model.codegen.numpy_step import NumpyStep
from parkf.model.steps import Step
from parkf.training.extrapolation import substituted
from parkf.training.minimise import F64, Fits, Floating, Likelihood, Limits
from parkf.training.mixture import mixture
from parkf.training.result import Minimum
from parkf.training.rows import COMPONENTS, Rows, truth_residual

TAIL_START = 0.03
# Limits of the tail's share. The lower one changes the width of a normal core by less than a per mille, and
# limits the influence of outliers.
TAIL_LIMITS = (1e-3, 0.5)
# Width of the tail in units of the core's. It is fixed, because a floating width would narrow the tail onto
# the core's flanks, and the core with it. With 2 to 2.5, fitted cores of scattering in layers are 1% to 2%
# wider than cores determined within two widths; where tails are smaller than normal ones, they are narrower
# by as much.
TAIL_WIDTH = 2.2
# Beyond this correlation a parabola is added to the negative log-likelihood, which drives Minuit back.
LARGEST_CORRELATION = 0.9999
WALL = 1e3
PLANES = ("x", "y")


def fit_noise(
    functions: NumpyStep, fits: Fits, start: F64, near: F64 | None = None
) -> tuple[F64, list[Minimum]]:
    """Fit the parameters of the noise; arguments and results as in :func:`fit_extrapolation`."""
    values, minima = start.copy(), []
    widths, correlations = plan(functions.step)
    if widths:
        likelihood = _widths(functions, values, widths)
        minima.append(_fit(functions, fits, values, widths, likelihood, COMPONENTS, near))
        values[widths] = minima[-1].values[: len(widths)]
    if correlations:
        for plane in PLANES:
            values *= _signs(functions, values, fits.sample, plane)
        likelihood = _correlations(functions, values, correlations)
        minima.append(_fit(functions, fits, values, correlations, likelihood, ("rho_x", "rho_y"), near))
        values[correlations] = minima[-1].values[: len(correlations)]
    return values, minima


def plan(step: Step) -> tuple[list[int], list[int]]:
    """Parameters that make the widths, and those that make correlations alone."""
    if not step.noise:
        return [], []
    used = set().union(*(step.noise[name].free_symbols for name in COMPONENTS))
    noise = step.indices("noise")
    widths = [i for i in noise if step.symbols[i] in used]
    return widths, [i for i in noise if i not in widths]


def _fit(
    functions: NumpyStep,
    fits: Fits,
    p: F64,
    own: list[int],
    likelihood: Likelihood,
    parts: tuple[str, ...],
    near: F64 | None,
) -> Minimum:
    """Minimise with the parameters `own` and the share of the tail of each part floating."""
    shares = [Floating(len(p) + i, f"tail_fraction_{part}", TAIL_LIMITS) for i, part in enumerate(parts)]
    steps = [*np.maximum(0.02 * np.abs(p[own]), 0.01), *(0.002 for _ in parts)]
    start = np.append(p, np.full(len(parts), TAIL_START))
    return fits.minimise(
        likelihood,
        start,
        [*(Floating(i, f"p{i}", _limits(functions, fits.sample, p, i)) for i in own), *shares],
        np.diag(steps),
        target=",".join(parts),
        kind="noise",
        near=None if near is None else substituted(start, own, near),
    )


def _widths(functions: NumpyStep, p: F64, own: list[int]) -> Likelihood:
    """Π N(form − truth; σ) of all components, each with a tail."""

    def likelihood(vector: F64, rows: Rows) -> tuple[F64, F64]:
        predicted, noise = functions.predict(p, rows), functions.noise(vector[: len(p)], rows)
        total = np.zeros(len(rows["qop"]))
        gradient = np.zeros((len(own) + len(COMPONENTS), len(total)))
        for i, c in enumerate(COMPONENTS):
            q = (truth_residual(predicted, rows, c) / noise[c]) ** 2
            nll, d_q, d_fraction = mixture(q, np.log(noise[c]), vector[len(p) + i], TAIL_WIDTH, 1)
            total += nll
            d_noise = (1 - 2 * q * d_q) / noise[c]
            gradient[: len(own)] += d_noise * functions.noise_gradient(c, vector[: len(p)], rows, own).T
            gradient[len(own) + i] = d_fraction
        return total, gradient

    return likelihood


def _correlations(functions: NumpyStep, p: F64, own: list[int]) -> Likelihood:
    """Π N₂(form − truth; Q) of both planes, each with a tail, with the widths as they are."""

    def likelihood(vector: F64, rows: Rows) -> tuple[F64, F64]:
        predicted, noise = functions.predict(p, rows), functions.noise(vector[: len(p)], rows)
        total = np.zeros(len(rows["qop"]))
        gradient = np.zeros((len(own) + len(PLANES), len(total)))
        for i, plane in enumerate(PLANES):
            a, b = (truth_residual(predicted, rows, c) / noise[c] for c in (plane, f"t{plane}"))
            name = f"rho_{plane}"
            rho = np.clip(noise[name], -LARGEST_CORRELATION, LARGEST_CORRELATION)
            excess = noise[name] - rho
            free = 1 - rho**2
            q = (a**2 - 2 * rho * a * b + b**2) / free
            log_volume = np.log(noise[plane] * noise[f"t{plane}"]) + 0.5 * np.log(free) + WALL * excess**2
            nll, d_q, d_fraction = mixture(q, log_volume, vector[len(p) + i], TAIL_WIDTH, 2)
            total += nll
            d_rho = np.where(excess == 0, (2 * d_q * (rho * q - a * b) - rho) / free, 2 * WALL * excess)
            gradient[: len(own)] += d_rho * functions.noise_gradient(name, vector[: len(p)], rows, own).T
            gradient[len(own) + i] = d_fraction
        return total, gradient

    return likelihood


def _signs(functions: NumpyStep, p: F64, rows: Rows, plane: str) -> F64:
    """−1 for the correlation of a plane where position and slope are anticorrelated, else 1; (m,)."""
    step, predicted = functions.step, functions.predict(p, rows)
    product = truth_residual(predicted, rows, plane) * truth_residual(predicted, rows, f"t{plane}")
    sign = np.sign(np.sum(np.sign(product)))
    correlation = step.noise[f"rho_{plane}"]
    return np.array([sign if symbol == correlation else 1.0 for symbol in step.symbols])


def _limits(functions: NumpyStep, rows: Rows, p: F64, index: int) -> Limits:
    """Widths stay positive and correlations below one.

    A contribution to a width that starts at zero or below may reduce the width by half at most.
    """
    step = functions.step
    if step.symbols[index] in (step.noise["rho_x"], step.noise["rho_y"]):
        return -0.999, 0.999
    if p[index] > 0:
        return p[index] / 100, None
    widths = functions.noise(p, rows)
    shares = [functions.noise_gradient(c, p, rows, [index])[:, 0] / widths[c] for c in COMPONENTS]
    rise, fall = float(np.max(shares)), -float(np.min(shares))
    return p[index] - 0.5 / rise if rise > 0 else None, p[index] + 0.5 / fall if fall > 0 else None
