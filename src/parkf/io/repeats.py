"""Rows that are there twice, found on disk: memory holds the same few megabytes for any number of rows."""

import tempfile
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from parkf.io.events import Columns

_AT_ONCE = 1 << 19  # hashes that are sorted together
_PARTS = 256  # of all hashes, one of which is in memory at a time


def hashes(columns: Columns, keys: Sequence[str]) -> NDArray[np.uint64]:
    """Hash the keys of rows, (n,). Minus zero and zero are equal; adding zero makes their bits the same."""
    found = np.zeros(len(columns[keys[0]]), np.uint64)
    for name in keys:
        bits = (np.asarray(columns[name], np.float64) + 0.0).view(np.uint64)
        for shift, factor in ((29, 0xBF58476D1CE4E5B9), (32, 0x94D049BB133111EB)):
            found = (found ^ bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
        found ^= found >> np.uint64(31)
    return found


class Repeats:
    """Hashes of all rows, in sorted runs in an unnamed file, which a `with` block closes."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  # until the end of the block
        self._waiting: list[NDArray[np.uint64]] = []
        self._count = 0
        self._runs: list[NDArray[np.int64]] = []  # byte at which each part of a run begins

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, more: NDArray[np.uint64]) -> None:
        """Add the hashes of some rows, (n,)."""
        self._waiting.append(more)
        self._count += len(more)
        if self._count >= _AT_ONCE:
            self._sort()

    def several(self) -> NDArray[np.uint64]:
        """Return the hashes that were added more than once, in ascending order."""
        self._sort()
        found = [np.empty(0, np.uint64)]
        for part in range(_PARTS):
            pieces = []
            for run in self._runs:
                self._file.seek(run[part])
                pieces.append(np.frombuffer(self._file.read(run[part + 1] - run[part]), np.uint64))
            own = np.sort(np.concatenate(pieces)) if pieces else found[0]
            found.append(np.unique(own[1:][own[1:] == own[:-1]]))
        return np.concatenate(found)

    def _sort(self) -> None:
        if not self._count:
            return
        run = np.sort(np.concatenate(self._waiting))
        self._waiting, self._count = [], 0
        edges = np.arange(1, _PARTS, dtype=np.uint64) << np.uint64(56)
        ends = np.array([0, *np.searchsorted(run, edges), len(run)])
        begin = self._file.seek(0, 2)
        self._file.write(run.data)
        self._runs.append(begin + 8 * ends)
