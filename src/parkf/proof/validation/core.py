"""Widths of a distribution with tails: of its Gaussian core, and of its central 68 % and 95 %."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import parkf._figures as _figures

# Entries farther out, in units of the central 68 %, belong to no core; their squares would only cost digits.
_FARTHEST = 1e3
# Central fraction of the entries, and its half width for a Gaussian of width one.
_CENTRAL = {"width68": (0.6826894921370859, 1.0), "width95": (0.95, 1.959963984540054)}


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
