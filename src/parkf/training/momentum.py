"""Momentum bins of all accuracy figures, and the figures of one bin."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

EDGES = (1.5, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0)  # GeV
BINS = tuple(pairwise(EDGES))
# Fewer rows say nothing about a 99% quantile.
FEWEST_ROWS = 20


def bin_numbers(qop: NDArray[np.float64]) -> NDArray[np.int64]:
    """Give the number of the bin of each q/p at production (1/MeV), (n,); -1 outside all."""
    number = np.searchsorted(EDGES, 1e-3 / np.abs(qop), side="right") - 1
    return np.where(number < len(BINS), number, -1)


def momentum_bins(qop: NDArray[np.float64]) -> Iterator[tuple[float, float, NDArray[np.bool_]]]:
    """Yield lower edge, upper edge (GeV) and the mask (n,) of every bin, from q/p at production in 1/MeV."""
    number = bin_numbers(qop)
    for n, (low, high) in enumerate(BINS):
        yield low, high, number == n


def half_width(values: NDArray[np.float64], share: float = 0.68) -> float:
    """Half-width around zero that holds this share of the values."""
    return float(np.quantile(np.abs(values), share))
