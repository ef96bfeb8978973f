"""Widths of a distribution with tails: of its Gaussian core, and of its central 68 % and 95 %."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_WINDOW = 2.0  # half-width of the fitted range in units of the width found
# Entries farther out, in units of the central 68 %, belong to no core; their squares would only cost digits.
_FARTHEST = 1e3
_ROUNDS = 20
# For a fit in one range: largest number of iterations, and a change that is small enough to stop, because
# Newton's next change would be of the order of its square.
_STEPS, _CLOSE = 50, 1e-5
_NARROWEST, _WIDEST = 0.2, 5.0  # limits of a fitted width, in units of the previous one
# Central fraction of the entries, and its half width for a Gaussian of width one.
_CENTRAL = {"width68": (0.6826894921370859, 1.0), "width95": (0.95, 1.959963984540054)}
_ROOT_2, _AREA = math.sqrt(2), math.sqrt(2 * math.pi)


@dataclass(frozen=True)
class Core:
    """Mean and width of the Gaussian core, their statistical errors, and the number of entries in all."""

    mean: float
    mean_error: float
    width: float
    width_error: float
    n: int

    def mean_as(self, name: str) -> dict[str, float]:
        """Return the mean and its error under this name."""
        return {name: self.mean, f"{name}_error": self.mean_error}

    def width_as(self, name: str) -> dict[str, float]:
        """Return the width and its error under this name."""
        return {name: self.width, f"{name}_error": self.width_error}


def fit_core(values: npt.NDArray[np.floating]) -> Core:
    """Fit a Gaussian, truncated at two of its widths, to the core of `values` (n,) by maximum likelihood.

    The likelihood accounts for the truncation, so that the width of a clean Gaussian is unbiased and tails
    outside the range have no influence. The range is moved with the fit until it converges. The result has
    the unit of `values`. Fewer than 20 entries, or entries that are not finite, raise a ValueError.
    """
    values = np.asarray(values, dtype=np.float64)
    if len(values) < 20 or not np.isfinite(values).all():
        raise ValueError(f"a core fit takes at least 20 finite values, got {len(values)}")
    values = np.sort(values)
    places = np.array((0.1587, 0.5, 0.8413)) * (len(values) - 1)
    low, middle, high = np.interp(places, np.arange(len(values)), values)
    unit = max((high - low) / 2, np.finfo(np.float64).tiny)
    # In units of the range, the two parameters are of order one for any quantity.
    u = np.clip((values - middle) / unit, -_FARTHEST, _FARTHEST)
    mean, width = 0.0, 1.0
    # Sums over any range are differences of these.
    sums = np.cumsum(np.stack([np.append(0.0, u), np.append(0.0, u * u)]), axis=1)
    for _ in range(_ROUNDS):
        begin, end = u.searchsorted((mean - _WINDOW * width, mean + _WINDOW * width)).tolist()
        n = end - begin
        first, second = ((sums[:, end] - sums[:, begin]) / n).tolist()
        first, second = first - mean, second - 2 * mean * first + mean**2
        shape = _fit_shape(first / width, second / width**2, n)
        errors = shape.mean_error * width, shape.width_error * width
        mean, width = mean + shape.mean * width, width * shape.width
        if abs(shape.mean) < 1e-3 and abs(shape.width - 1) < 1e-3:
            break
    mean_error, width_error = (float(unit * error) for error in errors)
    return Core(float(middle + unit * mean), mean_error, float(unit * width), width_error, len(values))


def spread(values: npt.NDArray[np.floating], prefix: str = "") -> dict[str, float]:
    """Measure the widths of the central 68 % and 95 %, scaled so that both are σ for a Gaussian.

    Unlike the width of the core, both include tails: ``width68`` is half the width of the central 68.27 %,
    ``width95`` half the width of the central 95 %, over 1.96; in the unit of `values` (n,). The standard
    errors ``<name>_error`` follow from order statistics: for any distribution, the binomial law determines
    between which entries a quantile lies. The names begin with `prefix`.
    """
    result = {}
    for name, (fraction, gaussian) in _CENTRAL.items():
        tail = (1 - fraction) / 2
        shift = np.sqrt(tail * (1 - tail) / len(values))
        low, high = np.quantile(values, (tail, 1 - tail))
        # The error of each end follows from its quantile, moved by one standard deviation in both directions.
        moved = [tail - shift, tail + shift, 1 - tail - shift, 1 - tail + shift]
        moved = np.quantile(values, np.clip(moved, 0, 1))
        below, above = (moved[1] - moved[0]) / 2, (moved[3] - moved[2]) / 2
        # The two ends are positively correlated: their correlation is tail / (1 − tail).
        variance = below**2 + above**2 - 2 * tail / (1 - tail) * below * above
        result[f"{prefix}{name}"] = float(high - low) / (2 * gaussian)
        result[f"{prefix}{name}_error"] = float(np.sqrt(variance)) / (2 * gaussian)
    return result


def _fit_shape(first: float, second: float, n: int) -> Core:
    """Fit mean and width of a Gaussian seen only in (-window, window).

    The likelihood depends only on the means of u and u² of the n entries there. Its negative logarithm is
    convex in m/s² and −1/(2 s²), with the covariance of u and u² as its curvature. Newton's method therefore
    converges in a few steps.
    """
    mean, width, got = 0.0, 1.0, _AT_START
    for _ in range(_STEPS):
        v11, v12, v22 = got[1] - got[0] ** 2, got[2] - got[0] * got[1], got[3] - got[1] ** 2
        determinant = v11 * v22 - v12**2
        lacks = first - got[0], second - got[1]
        linear = mean / width**2 + (v22 * lacks[0] - v12 * lacks[1]) / determinant
        square = -0.5 / width**2 + (v11 * lacks[1] - v12 * lacks[0]) / determinant
        # A step is limited so that the width at most halves or doubles.
        last, width = (mean, width), math.sqrt(-0.5 / min(max(square, -2 / width**2), -0.125 / width**2))
        width = min(max(width, _NARROWEST), _WIDEST)
        mean = min(max(linear * width**2, -_WINDOW), _WINDOW)
        if abs(mean - last[0]) + abs(width - last[1]) < _CLOSE:
            break
        got = _moments(mean, width)
    scale = n * determinant
    variance = v22 + 4 * mean * -v12 + 4 * mean**2 * v11
    return Core(mean, width**2 * math.sqrt(variance / scale), width, width**3 * math.sqrt(v11 / scale), n)


def _moments(mean: float, width: float) -> tuple[float, float, float, float]:
    """Return the means of u, u², u³, u⁴ of a Gaussian seen in (-window, window)."""
    low, high = (-_WINDOW - mean) / width, (_WINDOW - mean) / width
    inside = (math.erf(high / _ROOT_2) - math.erf(low / _ROOT_2)) / 2
    a, b = math.exp(-0.5 * low * low) / _AREA / inside, math.exp(-0.5 * high * high) / _AREA / inside
    z1 = a - b
    z2 = 1 + low * a - high * b
    z3 = 2 * z1 + low**2 * a - high**2 * b
    z4 = 3 * z2 + low**3 * a - high**3 * b
    m, s = mean, width
    return (
        m + s * z1,
        m**2 + 2 * m * s * z1 + s**2 * z2,
        m**3 + 3 * m**2 * s * z1 + 3 * m * s**2 * z2 + s**3 * z3,
        m**4 + 4 * m**3 * s * z1 + 6 * (m * s) ** 2 * z2 + 4 * m * s**3 * z3 + s**4 * z4,
    )


_AT_START = _moments(0.0, 1.0)
