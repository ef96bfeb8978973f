"""Widths of a distribution with tails: of its Gaussian core, and of its central 68 % and 95 %."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import parkf._figures as _figures

F64 = npt.NDArray[np.float64]

_RANGE = 2.0  # widths; as in the kernel
# Of Newton's method: most rounds, and the last step in widths.
_ROUNDS, _CLOSE = 30, 1e-7
# Entries farther out, in units of the central 68 %, belong to no core; their squares would only cost digits.
_FARTHEST = 1e3
# Central fraction of the entries, and its half width for a Gaussian of width one.
_CENTRAL = {"width68": (0.6826894921370859, 1.0), "width95": (0.95, 1.959963984540054)}


class Estimate(NamedTuple):
    """A figure of n entries, and how much each of them moves it.

    Figures of the same entries, such as the tracks of two fits, are compared by the differences of their
    influences. What both figures share then has no part in the error of the comparison.
    """

    value: float
    influence: F64  # (n,)

    def minus(self, other: "Estimate") -> "Estimate":
        """Return the difference of two figures of the same entries."""
        return Estimate(self.value - other.value, self.influence - other.influence)

    def over(self, other: "Estimate") -> "Estimate":
        """Return the ratio of two figures of the same entries."""
        ratio = self.value / other.value
        return Estimate(ratio, (self.influence - ratio * other.influence) / other.value)

    def error(self, event: npt.NDArray[np.integer] | None = None) -> float:
        """Return the standard error: of independent entries, or of entries that share events (n,), from 0."""
        parts = self.influence if event is None else np.bincount(event, self.influence)
        return float(np.sqrt(np.square(parts).sum()))

    def named(self, name: str, event: npt.NDArray[np.integer] | None = None) -> dict[str, float]:
        """Return the figure and its error under this name."""
        return {name: float(self.value), f"{name}_error": self.error(event)}


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

    def width_of(self, values: F64) -> Estimate:
        """Return the width with the influences of the entries (n,) that it was fitted to."""
        squares = np.square((values - self.mean) / self.width)
        inside = squares < _RANGE**2
        # The slope of each entry's log likelihood with the width, over the slope of their sum.
        slope = np.where(inside, squares - squares[inside].mean(), 0.0) / self.width
        return Estimate(self.width, self.width_error**2 * slope)


def fit_core(values: npt.NDArray[np.floating]) -> Core:
    """Fit a Gaussian, truncated at two of its widths, to the core of `values` (n,) by maximum likelihood.

    The likelihood accounts for the truncation, so that the width of a clean Gaussian is unbiased and tails
    outside the range have no influence. The range is moved with the fit until it converges
    (``src/kernel/figures``). The result has the unit of `values`. Fewer than 20 entries, or entries that are
    not finite, raise a ValueError.
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
    mean, mean_error, width, width_error = _figures.fit_core(u)
    return Core(
        float(middle + unit * mean),
        float(unit * mean_error),
        float(unit * width),
        float(unit * width_error),
        len(values),
    )


def smooth_core(values: npt.NDArray[np.floating]) -> tuple[Estimate, Estimate]:
    """Return mean and width of the core of `values` (n,), for comparisons of two fits of the same tracks.

    The range of :func:`fit_core` has sharp ends, so that two fits of the same tracks differ by the few that
    are in the range of one of them alone. Here, tracks have the weight exp(−u²/2) at u widths from the mean.
    For a Gaussian the results are the same, and for residuals of tracks they agree to about 1 %.
    """
    low, mean, high = np.sort(values)[(np.array((0.1587, 0.5, 0.8413)) * (len(values) - 1)).astype(np.int64)]
    width = max((high - low) / 2, np.finfo(np.float64).tiny)
    for _ in range(_ROUNDS):
        u = (values - mean) / width
        weight = np.exp(-0.5 * u**2)
        powers = [weight]
        for _ in range(4):
            powers.append(powers[-1] * u)
        sums = [power.sum() for power in powers]
        # In the solution, sums of u·weight and of (u² − 1/2)·weight are zero, because a Gaussian times this
        # weight has half the variance. From their slopes with u follow Newton's step, and what a value does.
        (a, b), (c, d) = (
            (sums[0] - sums[2], sums[1] - sums[3]),
            (2.5 * sums[1] - sums[3], 2.5 * sums[2] - sums[4]),
        )
        gain = [(d, -b), (-c, a)]
        over = width / (a * d - b * c)
        step = [over * (one * sums[1] + other * (sums[2] - 0.5 * sums[0])) for one, other in gain]
        if over > 0 and max(map(abs, step)) < _CLOSE * width:
            break
        if not (over > 0 and max(map(abs, step)) < width / 4):
            # Newton's step leads away where few values are far from a Gaussian. The weighted mean and width
            # lead closer, and never far.
            step = [width * sums[1] / sums[0], width * (np.sqrt(2 * sums[2] / sums[0]) - 1)]
        mean += step[0]
        width += step[1]
    squares = powers[2] - 0.5 * weight
    by_mean, by_width = (over * (one * powers[1] + other * squares) for one, other in gain)
    return Estimate(float(mean), by_mean), Estimate(float(width), by_width)


def central_widths(values: npt.NDArray[np.floating]) -> dict[str, Estimate]:
    """Measure the widths of the central 68 % and 95 %, scaled so that both are σ for a Gaussian.

    Unlike the width of the core, both include tails: ``width68`` is half the width of the central 68.27 %,
    ``width95`` half the width of the central 95 %, over 1.96; in the unit of `values` (n,). Errors follow
    from order statistics: for any distribution, the binomial law determines between which entries a quantile
    lies.
    """
    result = {}
    for name, (fraction, gaussian) in _CENTRAL.items():
        tail = (1 - fraction) / 2
        shift = np.sqrt(tail * (1 - tail) / len(values))
        at = [tail - shift, tail, tail + shift, 1 - tail - shift, 1 - tail, 1 - tail + shift]
        first, low, second, third, high, fourth = np.quantile(values, np.clip(at, 0, 1))
        # An entry beyond an end moves it by the inverse density there, which is that of entries around it.
        density = len(values) * 2 * shift
        end = (fourth - third) / density * ((values > high) - tail)
        begin = (second - first) / density * (tail - (values < low))
        result[name] = Estimate(float(high - low) / (2 * gaussian), (end - begin) / (2 * gaussian))
    return result
