"""Figures of residuals by momentum bin and component, and profiles, gathered from blocks of rows.

The profiles show how the residuals depend on the track's state and momentum, and so where a form is wrong.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.model.codegen.numpy_step import NumpyStep
from parkf.training.result import BinAccuracy, Profile
from parkf.training.rows import COMPONENTS, F64, SAMPLE, Rows, StoredRows, residuals

EDGES = (1.5, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0)  # GeV
BINS = tuple(pairwise(EDGES))
# Fewer rows do not determine a 99% quantile.
FEWEST_ROWS = 20

# |δ_par| is counted in equal steps of its logarithm, so that a quantile is known to half a per cent.
_DECADES, _PER_DECADE = (-16, 6), 200
_LOG_STEPS = (_DECADES[1] - _DECADES[0]) * _PER_DECADE
# Standardised differences are counted in linear steps; values beyond the range do not belong to the core.
_REACH, _PULL_STEPS = 8.0, 1600
_PULL_EDGES = np.linspace(-_REACH, _REACH, _PULL_STEPS + 1)
# Half-width of a core's range in units of its width, and the variance of a normal distribution inside it.
_WINDOW, _VARIANCE_INSIDE = 2.0, 0.7737413035760184
# Information on the logarithm of the width, from one row of a normal distribution, within this window. It is
# the mean of (r² − variance inside)² inside the window, for r of width one. Without a window it would be 2.
_INFORMATION = 0.7804
VARIABLES = ("p", "x", "y", "tx", "ty")
SLICES = 16  # of equal numbers of rows


class Spreads:
    """Counts of δ_par = form − Runge–Kutta, and of form − truth over σ_MS."""

    def __init__(self) -> None:
        shape = len(BINS), len(COMPONENTS)
        self._count = np.zeros(len(BINS), dtype=np.int64)
        # Moments of the differences and of their ratios to σ_MS, of each piece of rows that was added. They
        # are summed up in the end, in the order of the rows, so that it does not matter which process added
        # a piece.
        self._moments: list[F64] = []
        self._sizes = np.zeros((*shape, _LOG_STEPS), dtype=np.int64)
        self._pulls = np.zeros((*shape, _PULL_STEPS), dtype=np.int64)
        self._has_sigma = True

    def add(
        self, qop: F64, delta: dict[str, F64], truth: dict[str, F64], sigma: dict[str, F64] | None
    ) -> None:
        """Add rows (n,): q/p at production in 1/MeV, form − Runge–Kutta, form − truth, and σ_MS or None."""
        number = bin_numbers(qop)
        inside = np.flatnonzero(number >= 0)
        number = number[inside]
        self._count += np.bincount(number, minlength=len(BINS))
        self._has_sigma &= sigma is not None
        moments = np.zeros((2, len(BINS), len(COMPONENTS), 2))
        self._moments.append(moments)
        for c, name in enumerate(COMPONENTS):
            d = delta[name][inside]
            moments[0, :, c] = _moments(number, d)
            size = np.log10(np.maximum(np.abs(d), 10.0 ** _DECADES[0])) - _DECADES[0]
            self._sizes[:, c] += _histogram(number, size * _PER_DECADE, _LOG_STEPS)
            if sigma is None:
                continue
            scale = sigma[name][inside]
            moments[1, :, c] = _moments(number, d / scale)
            pull = truth[name][inside] / scale
            near = np.abs(pull) < _REACH
            place = (pull[near] + _REACH) * (_PULL_STEPS / (2 * _REACH))
            self._pulls[:, c] += _histogram(number[near], place, _PULL_STEPS)

    def extend(self, more: "Spreads") -> None:
        """Add the rows of other spreads behind the own ones."""
        self._count += more._count
        self._moments += more._moments
        self._sizes += more._sizes
        self._pulls += more._pulls
        self._has_sigma &= more._has_sigma

    def figures(self) -> list[BinAccuracy]:
        """Figures of the bins with enough rows, component by component."""
        sums, ratios = sum(self._moments, np.zeros((2, len(BINS), len(COMPONENTS), 2)))
        return [
            BinAccuracy(
                p_min=low,
                p_max=high,
                component=component,
                n=int(self._count[b]),
                mean=float(sums[b, c, 0] / self._count[b]),
                rms=float(np.sqrt(sums[b, c, 1] / self._count[b])),
                q68=_quantile(self._sizes[b, c], 0.68),
                q99=_quantile(self._sizes[b, c], 0.99),
                ratio_rms=float(np.sqrt(ratios[b, c, 1] / self._count[b])) if self._has_sigma else None,
                truth_width=core_width(self._pulls[b, c]) if self._has_sigma else None,
            )
            for c, component in enumerate(COMPONENTS)
            for b, (low, high) in enumerate(BINS)
            if self._count[b] >= FEWEST_ROWS
        ]


def core_width(counts: NDArray[Any], edges: F64 = _PULL_EDGES) -> float:
    """Return the width of the normal core of a histogram of standardised differences.

    It is determined from the mean square within two widths on either side of the median, so that tails do
    not matter. For a normal distribution it is the standard deviation. The result is at most half of the
    largest value in the histogram.
    """
    centres = 0.5 * (edges[1:] + edges[:-1])
    cumulative = np.cumsum(counts)
    middle = centres[np.searchsorted(cumulative, 0.5 * cumulative[-1])] if cumulative[-1] else 0.0
    squares = np.concatenate([[0.0], np.cumsum(counts * (centres - middle) ** 2)])
    total = np.concatenate([[0.0], cumulative])
    width = 1.0
    for _ in range(100):
        ends = middle + np.array([-1, 1]) * _WINDOW * width
        inside, square = (np.diff(np.interp(ends, edges, sums))[0] for sums in (total, squares))
        if inside == 0:
            return float(edges[-1]) / _WINDOW
        width, before = float(np.sqrt(square / inside / _VARIANCE_INSIDE)), width
        if abs(width - before) < 1e-6:
            break
    return width


def core_error(width: float, rows: int) -> float:
    """Return the standard error of :func:`core_width` for `rows` rows, most of them in a normal core."""
    return width / float(np.sqrt(_INFORMATION * rows))


def _moments(number: NDArray[np.int64], values: F64) -> F64:
    """Sum and sum of squares in each momentum bin, (bins, 2)."""
    powers = (values, values**2)
    return np.stack([np.bincount(number, power, len(BINS)) for power in powers], axis=1)


def _histogram(number: NDArray[np.int64], place: F64, steps: int) -> NDArray[np.int64]:
    """Count by momentum bin and step, (bins, steps)."""
    step = np.clip(place.astype(np.int64), 0, steps - 1)
    return np.bincount(number * steps + step, minlength=len(BINS) * steps).reshape(len(BINS), steps)


def _quantile(counts: NDArray[np.int64], share: float) -> float:
    """Return the size of |δ_par| that this fraction of the rows stays below."""
    cumulative = np.concatenate([[0], np.cumsum(counts)])
    place = np.interp(share * cumulative[-1], cumulative, np.arange(len(cumulative)))
    return float(10 ** (place / _PER_DECADE + _DECADES[0]))


def bin_numbers(qop: F64) -> NDArray[np.int64]:
    """Return the number (n,) of the bin of each q/p at production (1/MeV); -1 outside all bins."""
    number = _count_below(1e-3 / np.abs(qop), EDGES) - 1
    return np.where(number < len(BINS), number, -1)


def _count_below(values: F64, edges: Iterable[float]) -> NDArray[np.int64]:
    """Count the edges, 127 at most, at or below each value, (n,); faster than a search if they are few."""
    count = np.zeros(len(values), np.int8)
    for edge in edges:
        count += values >= edge
    return count.astype(np.int64)


def momentum_bins(qop: F64) -> Iterator[tuple[float, float, NDArray[np.bool_]]]:
    """Yield lower edge, upper edge (GeV) and the mask (n,) of every bin, from q/p at production in 1/MeV."""
    number = bin_numbers(qop)
    for n, (low, high) in enumerate(BINS):
        yield low, high, number == n


def by_momentum(
    qop: F64, figures: Callable[[NDArray[np.bool_], int], dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the figures of each momentum bin and component: of a mask (n,) and a component's number.

    Each has ``p_min`` and ``p_max`` in GeV, the component, and ``n``, its number of rows, 20 at least.
    """
    return [
        {"p_min": low, "p_max": high, "component": component, "n": int(mask.sum()), **figures(mask, c)}
        for low, high, mask in momentum_bins(qop)
        if mask.sum() >= FEWEST_ROWS
        for c, component in enumerate(COMPONENTS)
    ]


def half_width(values: F64, share: float = 0.68) -> float:
    """Return the half-width of the interval around zero that holds this fraction of the values."""
    return float(np.quantile(np.abs(values), share))


def residual_profiles(functions: NumpyStep, p: F64, rows: StoredRows) -> list[Profile]:
    """Mean and RMS of δ_par/σ_MS in slices of momentum, position and slopes at the origin."""
    sample = rows.sample(SAMPLE)
    shares = np.linspace(0, 1, SLICES + 1)
    edges = {name: np.quantile(_variable(name, sample), shares) for name in VARIABLES}

    def of_block(block: Rows) -> F64:
        sums = np.empty((len(VARIABLES), 3, SLICES, len(COMPONENTS)))
        delta, sigma = residuals(functions.predict(p, block), block, "e"), functions.noise(p, block)
        ratios = [delta[c] / sigma[c] for c in COMPONENTS]
        squares = [ratio**2 for ratio in ratios]
        for name, (count, total, square) in zip(VARIABLES, sums, strict=True):
            place = _count_below(_variable(name, block), edges[name][1:-1])
            count[:] = np.bincount(place, minlength=SLICES)[:, None]
            for c in range(len(COMPONENTS)):
                total[:, c] = np.bincount(place, ratios[c], SLICES)
                square[:, c] = np.bincount(place, squares[c], SLICES)
        return sums

    sums = np.zeros((len(VARIABLES), 3, SLICES, len(COMPONENTS)))
    for blocks in rows.by_stripe(lambda stripe: [of_block(block) for block in rows.blocks(stripe)]):
        for block in blocks:
            sums += block
    profiles = []
    for name, (rows_in_slice, total, squares) in zip(VARIABLES, sums, strict=True):
        count = np.maximum(rows_in_slice, 1)
        mean, rms = (
            dict(zip(COMPONENTS, values.T.tolist(), strict=True))
            for values in (total / count, np.sqrt(squares / count))
        )
        profiles.append(Profile(variable=name, edges=edges[name].tolist(), mean=mean, rms=rms))
    return profiles


def _variable(name: str, rows: Rows) -> F64:
    return np.asarray(1e-3 / np.abs(rows["qop"]) if name == "p" else rows[f"{name}0"])
