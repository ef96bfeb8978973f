"""Search for duplicate rows of a step dataset, with only a part of the rows in memory.

Rows are distributed over scratch files by a hash of their key. Duplicates are then in the same file, and each
file fits into memory.
"""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from parkf.io.files import require_space
from parkf.io.tables import STEP_DATA

KEY = ("event", "particle", "polarity", "set", "z0", "z1")
# Mean number of rows in a scratch file, and number of rows that are distributed at a time.
ROWS_OF_FILE = 1 << 17
_ENTRY = np.dtype(
    [(name, kind.to_pandas_dtype()) for name, kind in STEP_DATA.columns if name in KEY] + [("row", np.int64)]
)


def scratch_bytes(rows: int) -> int:
    """Bytes in TMPDIR that the search among so many rows needs."""
    return rows * _ENTRY.itemsize


class Duplicates:
    """The keys of a dataset's rows, in files of a scratch folder."""

    def __init__(self, folder: Path, rows: int) -> None:
        what = "the search for rows that are there twice, in TMPDIR,"
        require_space(folder.parent, scratch_bytes(rows), what)
        self._folder = folder
        self._count = max(1, -(-rows // ROWS_OF_FILE))
        self._waiting: list[NDArray[Any]] = []

    def add(self, columns: dict[str, NDArray[Any]], begin: int) -> None:
        """Add rows, (n,) each column, of which the first is the `begin`-th of the dataset."""
        entries = np.empty(len(columns["event"]), _ENTRY)
        for name in KEY:
            entries[name] = columns[name]
        entries["row"] = np.arange(begin, begin + len(entries))
        self._waiting.append(entries)
        if sum(map(len, self._waiting)) >= ROWS_OF_FILE:
            self._deal()

    def first(self) -> tuple[int, int] | None:
        """Return two rows that are the same, the earlier one first; None where there are none."""
        self._deal()
        for path in (self._folder / str(file) for file in range(self._count)):
            if not path.is_file():
                continue
            entries = np.fromfile(path, _ENTRY)
            # Rows with equal hashes are compared, since their keys may differ.
            frame = pd.DataFrame(entries[pd.Series(_hash(entries)).duplicated(keep=False)])
            same = frame[frame.duplicated(list(KEY), keep=False)].sort_values([*reversed(KEY), "row"])
            if len(same):
                return int(same["row"].iloc[0]), int(same["row"].iloc[1])
        return None

    def _deal(self) -> None:
        """Write what waits to the files."""
        entries = np.concatenate([np.empty(0, _ENTRY), *self._waiting])
        self._waiting = []
        number = _hash(entries) % np.uint64(self._count)
        order = np.argsort(number, kind="stable")
        ends = np.searchsorted(number[order], np.arange(self._count + 1, dtype=np.uint64))
        for file, (first, last) in enumerate(pairwise(ends)):
            if first < last:
                with (self._folder / str(file)).open("ab") as stream:
                    entries[order[first:last]].tofile(stream)


def _hash(entries: NDArray[Any]) -> NDArray[np.uint64]:
    hashes = np.zeros(len(entries), np.uint64)
    for name in KEY:
        # Minus zero and zero are equal but differ in a bit. Adding zero makes them the same.
        column = entries[name] + entries[name].dtype.type(0)
        hashes = np.uint64(0x9E3779B97F4A7C15) * (hashes ^ pd.util.hash_array(column))
    return hashes ^ (hashes >> np.uint64(32))
