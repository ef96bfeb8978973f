"""Segments of tracks: the hits of one detector that a pattern recognition joins."""

from dataclasses import dataclass
from typing import Self

import numpy as np


@dataclass(frozen=True)
class DetectorSegments:
    """Segments of some events, sorted by event."""

    event: np.ndarray  # (n,)
    hits: np.ndarray  # (n, slots) rows of the hit table, -1 for none

    def without(self, rows: np.ndarray) -> Self:
        """Return all segments but those in `rows` (m,)."""
        return type(self)(*(np.delete(values, rows, axis=0) for values in vars(self).values()))
