"""A thousand rows of a stream, evenly from all of it, the same ones every time."""

import numpy as np
from numpy.typing import NDArray

Rows = dict[str, NDArray[np.float64]]
SIZE = 1000


class Reservoir:
    """Keeps the rows whose numbers have the smallest hashes."""

    def __init__(self, size: int = SIZE) -> None:
        self._size = size
        self._count = 0
        self._hashes = np.empty(0, np.uint64)
        self._rows: Rows | None = None

    @property
    def full(self) -> bool:
        """Whether it holds as many as it can."""
        return len(self._hashes) >= self._size

    @property
    def rows(self) -> Rows:
        """Those kept, in the order of the stream's hashes; empty before the first."""
        return {} if self._rows is None else self._rows

    def add(self, rows: Rows) -> None:
        """Look at the next rows of the stream."""
        count = len(next(iter(rows.values())))
        hashes = _hash(np.arange(self._count, self._count + count, dtype=np.uint64))
        self._count += count
        chosen = np.flatnonzero(hashes < self._hashes[-1]) if self.full else np.arange(count)
        if not len(chosen) and self._rows is not None:
            return
        taken = {name: values[chosen] for name, values in rows.items()}
        joined = np.concatenate([self._hashes, hashes[chosen]])
        keep = np.argsort(joined)[: self._size]
        before = self._rows or {name: values[:0] for name, values in rows.items()}
        self._rows = {name: np.concatenate([before[name], taken[name]])[keep] for name in taken}
        self._hashes = joined[keep]


def _hash(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Finish of SplitMix64."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))
