"""The Gaussian core of a distribution with tails."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from iminuit import Minuit
from scipy.special import log_ndtr, ndtr

_WINDOW = 2.0  # half-width of the fitted range in units of the width found
_ROUNDS = 20


@dataclass(frozen=True)
class Core:
    """Mean and width of the Gaussian core, their statistical errors, and the number of entries in all."""

    mean: float
    mean_error: float
    width: float
    width_error: float
    n: int


def fit_core(values: npt.NDArray[np.floating]) -> Core:
    """Fit a Gaussian, truncated at two of its widths, to the core of `values` by maximum likelihood.

    The truncation belongs to the likelihood, so that the width of a clean Gaussian comes out unbiased and
    tails outside the range count for nothing. The range follows the fit until it stays.

    Parameters
    ----------
    values : (n,) float
        Entries; at least 20, all finite.

    Returns
    -------
    Core
        In the unit of `values`.

    Raises
    ------
    ValueError
        With fewer than 20 entries, or with entries that are not finite.
    """
    values = np.asarray(values, dtype=np.float64)
    if len(values) < 20 or not np.isfinite(values).all():
        raise ValueError(f"a core fit takes at least 20 finite values, got {len(values)}")
    low, mean, high = np.quantile(values, (0.1587, 0.5, 0.8413))
    width = max((high - low) / 2, np.finfo(np.float64).tiny)
    shape = _Shape()
    for _ in range(_ROUNDS):
        selected = values[np.abs(values - mean) < _WINDOW * width]
        # In units of the range, the two parameters are of order one whatever the quantity is.
        minuit = shape.fit((selected - mean) / width)
        shift, scale = minuit.values["mean"], minuit.values["width"]
        errors = minuit.errors["mean"] * width, minuit.errors["width"] * width
        mean, width = mean + shift * width, width * scale
        if abs(shift) < 1e-3 and abs(scale - 1) < 1e-3:
            break
    return Core(float(mean), errors[0], float(width), errors[1], len(values))


class _Shape:
    """Mean and width of a Gaussian seen only in (-window, window): one minimiser for all rounds of a fit."""

    def __init__(self) -> None:
        self._n, self._total, self._squares = 0, 0.0, 0.0
        self._minuit = Minuit(self._nll, mean=0.0, width=1.0)
        self._minuit.errordef = Minuit.LIKELIHOOD

    def fit(self, u: npt.NDArray[np.float64]) -> Minuit:
        """Fit entries, all inside the window."""
        self._n, self._total, self._squares = len(u), u.sum(), np.square(u).sum()
        minuit = self._minuit.reset()
        minuit.limits["width"] = (0.2, 5.0)
        minuit.limits["mean"] = (-_WINDOW, _WINDOW)
        return minuit.migrad()

    def _nll(self, mean: float, width: float) -> float:
        below, above = (-_WINDOW - mean) / width, (_WINDOW - mean) / width
        # ndtr saturates where the whole range lies in one tail; there its logarithm serves.
        inside = ndtr(above) - ndtr(below)
        log_inside = np.log(inside) if inside > 1e-12 else max(log_ndtr(above), log_ndtr(-below))
        square = self._squares - 2 * mean * self._total + self._n * mean**2
        return float(self._n * (np.log(width) + log_inside) + square / (2 * width**2))
