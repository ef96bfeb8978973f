"""Tables of many tracks, whose columns stay on disk until they are read."""

from collections.abc import Mapping
from copy import copy
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from parkf.io.files import scratch_folder

# Rows that are written together.
_ROWS_AT_ONCE = 10_000


class Rows(Protocol):
    """Columns that figures are computed from: a DataFrame, or :class:`Tracks`."""

    def __len__(self) -> int: ...

    def __contains__(self, name: object) -> bool: ...

    def __getitem__(self, key: Any) -> Any:
        """Return a column (n,) by its name, or the rows for which a mask (n,) holds."""


class Tracks:
    """A table of tracks that is written piece by piece to a folder under TMPDIR, with a file for each column.

    Memory holds only the column that is read. The folder is removed with the last table that refers to it. A
    table has all rows of the files, or those that a mask has chosen.
    """

    def __init__(self) -> None:
        self._folder = scratch_folder()
        self._kinds: dict[str, np.dtype] = {}
        self._count = 0
        # Rows that are not in the files yet, and those that are.
        self._waiting: list[Mapping[str, NDArray[Any]]] = []
        self._written = 0
        self._chosen: NDArray[np.int32] | None = None

    def append(self, rows: Mapping[str, NDArray[Any]]) -> None:
        """Add rows, (n,) each column; all calls have the same columns."""
        for name, values in rows.items():
            self._kinds.setdefault(name, values.dtype)
        self._waiting.append(rows)
        self._count += len(next(iter(rows.values())))
        if self._count - self._written >= _ROWS_AT_ONCE:
            self.write()

    def write(self) -> None:
        """Write the rows that wait; else each of several processes would, when it reads a column."""
        for name, kind in self._kinds.items() if self._waiting else ():
            with (Path(self._folder.name) / name).open("ab") as file:
                np.concatenate([rows[name] for rows in self._waiting]).astype(kind, copy=False).tofile(file)
        self._waiting.clear()
        self._written = self._count

    def __len__(self) -> int:
        return self._count if self._chosen is None else len(self._chosen)

    def __contains__(self, name: object) -> bool:
        return name in self._kinds

    def __getitem__(self, key: Any) -> Any:
        """Read a column (n,) by its name, or choose rows by a mask (n,)."""
        if isinstance(key, str):
            self.write()
            column = np.fromfile(Path(self._folder.name) / key, self._kinds[key])
            return column if self._chosen is None else column[self._chosen]
        rows, chosen = copy(self), np.flatnonzero(key).astype(np.int32)
        rows._chosen = chosen if self._chosen is None else self._chosen[chosen]
        return rows
