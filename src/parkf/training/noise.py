"""Fits of p̃: the process noise describes the scatter of the truth around the form, with p fixed.

First the widths are fitted, with a density for each component. The components are separate because scattering
has different tails in position and in slope: an outlier in one may lie at the centre of the other. Then the
correlations are fitted, with the normal density N₂ of position and slope. Wide tails, whose fractions float,
describe hard scatters, decays and large energy losses. Each core then has width one.
"""

from collections.abc import Callable

import numpy as np

from parkf.model.codegen.numpy_step import NumpyStep
from parkf.training.minimise import Fits, Floating, Limits
from parkf.training.result import Minimum
from parkf.training.rows import COMPONENTS, F64, Rows, residuals

TAIL_START = 0.03
# Limits of the tail's fraction. The lower limit bounds the influence of outliers. It changes the width of a
# normal core by less than one per mille.
TAIL_LIMITS = (1e-3, 0.5)
# Width of the tail in units of the core's width. It is fixed, because a floating tail would narrow until it
# describes the core's flanks, and the core would narrow with it. With values of 2 to 2.5, the fitted core of
# a layer's scattering is 1% to 2% wider than a core that is determined within two widths. It is narrower by
# the same amount where the tail is small.
TAIL_WIDTH = 2.2
# Beyond this correlation a parabola is added to the negative log-likelihood, which drives Minuit back.
LARGEST_CORRELATION = 0.9999
WALL = 1e3
# Ratio of t_d to N_d at the centre, for K = 1.
_PEAK = {1: np.sqrt(np.pi) / 2, 2: 1.0}

# The type of a likelihood of the noise. Its arguments are the name of a width or correlation; the residuals
# form − truth and the noise, by name, (n,) each; and the fraction in the tail. It returns contributions to
# the negative log-likelihood, and their derivatives with respect to the width or correlation and to the
# fraction, (n,) each.
Density = Callable[[str, dict[str, F64], dict[str, F64], float], tuple[F64, F64, F64]]


def fit_noise(functions: NumpyStep, fits: Fits, start: F64) -> tuple[F64, list[Minimum]]:
    """Fit the parameters of the noise; arguments and first results as in :func:`fit_extrapolation`."""
    values, step = start.copy(), functions.step
    minima: list[Minimum] = []
    if not step.noise:
        return values, minima
    used = set().union(*(step.noise[name].free_symbols for name in COMPONENTS))
    widths = [i for i in step.indices("noise") if step.symbols[i] in used]
    # The other parameters appear only in correlations.
    correlations = [i for i in step.indices("noise") if i not in widths]
    if widths:
        minima.append(_fit(functions, fits, values, widths, COMPONENTS, _width))
        values[widths] = minima[-1].values[: len(widths)]
    if correlations:
        for plane in ("x", "y"):
            values *= _signs(functions, values, fits.sample, plane)
        minima.append(_fit(functions, fits, values, correlations, ("rho_x", "rho_y"), _correlation))
        values[correlations] = minima[-1].values[: len(correlations)]
    return values, minima


def _fit(
    functions: NumpyStep,
    fits: Fits,
    p: F64,
    own: list[int],
    parts: tuple[str, ...],
    density: Density,
) -> Minimum:
    """Fit the parameters `own` to the densities of all `parts`; the fraction of each tail floats."""
    # Positions in `own` of the parameters that each part depends on.
    reached = [
        [
            at
            for at, i in enumerate(own)
            if functions.step.symbols[i] in functions.step.noise[part].free_symbols
        ]
        for part in parts
    ]

    def likelihood(vector: F64, rows: Rows) -> tuple[F64, F64]:
        truth = residuals(functions.predict(p, rows), rows, "1")
        noise = functions.noise(vector[: len(p)], rows)
        total = np.zeros(len(rows["qop"]))
        gradient = np.zeros((len(own) + len(parts), len(total)))
        for i, (part, at) in enumerate(zip(parts, reached, strict=True)):
            nll, d_part, d_fraction = density(part, truth, noise, vector[len(p) + i])
            total += nll
            slopes = functions.noise_gradient(part, vector[: len(p)], rows, [own[j] for j in at])
            for j, slope in zip(at, slopes.T, strict=True):
                gradient[j] += d_part * slope
            gradient[len(own) + i] = d_fraction
        return total, gradient

    tails = [Floating(len(p) + i, f"tail_fraction_{part}", TAIL_LIMITS) for i, part in enumerate(parts)]
    steps = [*np.maximum(0.02 * np.abs(p[own]), 0.01), *(0.002 for _ in parts)]
    start = np.append(p, np.full(len(parts), TAIL_START))
    return fits.minimise(
        likelihood,
        start,
        [*(Floating(i, f"p{i}", _limits(functions, fits.sample, p, i)) for i in own), *tails],
        np.diag(steps),
        target=",".join(parts),
        kind="noise",
    )


def _width(c: str, truth: dict[str, F64], noise: dict[str, F64], fraction: float) -> tuple[F64, F64, F64]:
    """Evaluate N(form − truth; σ) of one component, with a tail."""
    q = (truth[c] / noise[c]) ** 2
    nll, d_q, d_fraction = mixture(q, np.log(noise[c]), fraction, TAIL_WIDTH, 1)
    return nll, (1 - 2 * q * d_q) / noise[c], d_fraction


def _correlation(
    name: str, truth: dict[str, F64], noise: dict[str, F64], fraction: float
) -> tuple[F64, F64, F64]:
    """Evaluate N₂(form − truth; Q) of position and slope in one plane, with a tail; the widths are fixed."""
    plane = name.removeprefix("rho_")
    a, b = (truth[c] / noise[c] for c in (plane, f"t{plane}"))
    rho = np.clip(noise[name], -LARGEST_CORRELATION, LARGEST_CORRELATION)
    excess = noise[name] - rho
    free = 1 - rho**2
    q = (a**2 - 2 * rho * a * b + b**2) / free
    log_volume = np.log(noise[plane] * noise[f"t{plane}"]) + 0.5 * np.log(free) + WALL * excess**2
    nll, d_q, d_fraction = mixture(q, log_volume, fraction, TAIL_WIDTH, 2)
    d_rho = np.where(excess == 0, (2 * d_q * (rho * q - a * b) - rho) / free, 2 * WALL * excess)
    return nll, d_rho, d_fraction


def _signs(functions: NumpyStep, p: F64, rows: Rows, plane: str) -> F64:
    """Return signs (m,): −1 for the plane's correlation if position and slope are anticorrelated, else 1."""
    step, truth = functions.step, residuals(functions.predict(p, rows), rows, "1")
    sign = np.sign(np.sum(np.sign(truth[plane] * truth[f"t{plane}"])))
    correlation = step.noise[f"rho_{plane}"]
    return np.array([sign if symbol == correlation else 1.0 for symbol in step.symbols])


def _limits(functions: NumpyStep, rows: Rows, p: F64, index: int) -> Limits:
    """Return limits that keep widths positive and correlations below one.

    A parameter that starts at zero or below is a contribution to a width. It may at most halve the width.
    """
    step = functions.step
    if step.symbols[index] in (step.noise["rho_x"], step.noise["rho_y"]):
        return -0.999, 0.999
    if p[index] > 0:
        return p[index] / 100, np.inf
    widths = functions.noise(p, rows)
    slopes = [functions.noise_gradient(c, p, rows, [index])[:, 0] / widths[c] for c in COMPONENTS]
    rise, fall = float(np.max(slopes)), -float(np.min(slopes))
    low = p[index] - 0.5 / rise if rise > 0 else -np.inf
    return low, p[index] + 0.5 / fall if fall > 0 else np.inf


def mixture(q: F64, log_volume: F64, fraction: float, width: float, dimension: int) -> tuple[F64, F64, F64]:
    """Return the negative log of a density with a normal core and a wide tail around it, and its derivatives.

    The density of one component (d = 1), or of position and slope (d = 2), is
    (1 − ε)·N_d(q) + ε·t_d(q/K²)/K^d. Here t_d is Student's t of two degrees of freedom, which falls off as
    single scattering does; ε is `fraction` and K is `width`. `q` (n,) is the squared distance in units of the
    core. `log_volume` (n,) is half the log of the determinant of the core's covariance. Return nll and its
    derivatives with respect to q and ε, (n,) each. The derivative with respect to log_volume is one.
    """
    near = 2 * width**2 / (2 * width**2 + q)
    core = np.exp(-0.5 * q)
    tail = _PEAK[dimension] * near * np.sqrt(near) ** dimension / width**dimension
    density = (1 - fraction) * core + fraction * tail
    nll = log_volume + 0.5 * dimension * np.log(2 * np.pi) - np.log(density)
    slope = (2 + dimension) / (4 * width**2) * near
    d_q = (0.5 * (1 - fraction) * core + fraction * slope * tail) / density
    return nll, d_q, (core - tail) / density
