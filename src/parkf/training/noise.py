"""Fits of p̃: the process noise describes how the truth scatters around the form, with p fixed.

Position and slope of a plane are fitted together, as N₂ of their covariance; hard scatters, decays and large
energy losses go to a wide tail whose share floats, so that the core has width one.
"""

import numpy as np

from parkf.codegen.numpy_step import NumpyStep
from parkf.steps import Step
from parkf.training.minimise import F64, Fits, Floating, Limits
from parkf.training.mixture import mixture
from parkf.training.result import Minimum
from parkf.training.rows import COMPONENTS, Rows, truth_residual

TAIL_START = 0.03
# Fixed: a floating width would narrow the tail onto the core's flanks, and the core with it.
TAIL_WIDTH = 3.0
# Where Minuit tries a correlation beyond this one, a parabola brings it back.
LARGEST_CORRELATION = 0.9999
WALL = 1e3


def fit_noise(functions: NumpyStep, fits: Fits, start: F64) -> tuple[F64, list[Minimum]]:
    """Fit the parameters of the noise; arguments and results as in :func:`fit_extrapolation`.

    Planes that share parameters (VELO) are fitted together, others apart.
    """
    values, minima = start.copy(), []
    for planes, floating in plan(functions.step):
        minimum = _fit_planes(functions, fits, values, planes, floating)
        values[floating] = minimum.values[: len(floating)]
        minima.append(minimum)
    return values, minima


def plan(step: Step) -> list[tuple[tuple[str, ...], list[int]]]:
    """Planes (x and tx, y and ty) that are fitted together, and their parameters."""
    if not step.noise:
        return []
    own = {}
    for plane in ("x", "y"):
        used = set().union(*(step.noise[name].free_symbols for name in (plane, f"t{plane}", f"rho_{plane}")))
        own[plane] = [i for i in step.indices("noise") if step.symbols[i] in used]
    if set(own["x"]) & set(own["y"]):
        return [(("x", "y"), sorted(set(own["x"]) | set(own["y"])))]
    return [((plane,), own[plane]) for plane in ("x", "y")]


def _fit_planes(functions: NumpyStep, fits: Fits, p: F64, planes: tuple[str, ...], own: list[int]) -> Minimum:
    """Maximise Π N₂(form − truth; Q) of the planes, with a tail whose share floats."""

    def likelihood(vector: F64, rows: Rows) -> tuple[F64, F64]:
        residuals = _residuals(functions, p, rows, planes)
        noise = functions.noise(vector[:-1], rows)
        total = np.zeros(len(rows["qop"]))
        gradient = np.zeros((len(own) + 1, len(total)))
        for plane in planes:
            names = (plane, f"t{plane}", f"rho_{plane}")
            pulls = [residuals[c] / noise[c] for c in names[:2]]
            distance, d_distance, log_volume, d_volume = _distance(noise, pulls, names)
            nll, d_q, d_fraction = mixture(distance, log_volume, vector[-1], TAIL_WIDTH)
            total += nll
            for name in names:
                d_noise = d_q * d_distance[name] + d_volume[name]
                gradient[:-1] += d_noise * functions.noise_gradient(name, vector[:-1], rows, own).T
            gradient[-1] += d_fraction
        return total, gradient

    start = np.append(p, TAIL_START)
    residuals = _residuals(functions, p, fits.sample, planes)
    for plane in planes:
        start[:-1] *= _signs(functions.step, plane, residuals)
    steps = [*np.maximum(0.02 * np.abs(p[own]), 0.01), 0.002]
    return fits.minimise(
        likelihood,
        start,
        [
            *(Floating(i, f"p{i}", _limits(functions, fits.sample, p, i)) for i in own),
            Floating(len(p), "tail_fraction", (1e-5, 0.5)),
        ],
        np.diag(steps),
        target=" ".join(f"{plane},t{plane}" for plane in planes),
        kind="noise",
    )


def _residuals(functions: NumpyStep, p: F64, rows: Rows, planes: tuple[str, ...]) -> dict[str, F64]:
    predicted = functions.predict(p, rows)
    return {c: truth_residual(predicted, rows, c) for plane in planes for c in (plane, f"t{plane}")}


def _distance(
    noise: dict[str, F64], pulls: list[F64], names: tuple[str, str, str]
) -> tuple[F64, dict[str, F64], F64, dict[str, F64]]:
    """Squared distance of (position, slope) and log volume, with derivatives by σ, σ and ρ."""
    position, slope, correlation = names
    a, b = pulls
    rho = np.clip(noise[correlation], -LARGEST_CORRELATION, LARGEST_CORRELATION)
    excess = noise[correlation] - rho
    free = 1 - rho**2
    distance = (a**2 - 2 * rho * a * b + b**2) / free
    d_distance = {
        position: -2 * a * (a - rho * b) / (free * noise[position]),
        slope: -2 * b * (b - rho * a) / (free * noise[slope]),
        correlation: np.where(excess == 0, 2 * (rho * distance - a * b) / free, 0.0),
    }
    log_volume = np.log(noise[position] * noise[slope]) + 0.5 * np.log(free) + WALL * excess**2
    d_volume = {
        position: 1 / noise[position],
        slope: 1 / noise[slope],
        correlation: np.where(excess == 0, -rho / free, 2 * WALL * excess),
    }
    return distance, d_distance, log_volume, d_volume


def _signs(step: Step, plane: str, residuals: dict[str, F64]) -> F64:
    """−1 for the correlation of a plane where position and slope go against each other, else 1; (m,)."""
    sign = np.sign(np.sum(np.sign(residuals[plane] * residuals[f"t{plane}"])))
    correlation = step.noise[f"rho_{plane}"]
    return np.array([sign if symbol == correlation else 1.0 for symbol in step.symbols])


def _limits(functions: NumpyStep, rows: Rows, p: F64, index: int) -> Limits:
    """Widths stay positive and correlations below one.

    A contribution to a width that starts at zero or below may take away half of the rest at most.
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
