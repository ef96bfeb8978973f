"""Tables of many tracks, whose columns stay on disk until they are read."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from parkf.io.files import scratch_folder


class Rows(Protocol):
    """Columns that figures are computed from: a DataFrame, or :class:`Tracks`."""

    def __len__(self) -> int: ...

    def __contains__(self, name: object) -> bool: ...

    def __getitem__(self, key: Any) -> Any:
        """Return a column (n,) by its name, or the rows for which a mask (n,) holds."""


@dataclass(frozen=True, eq=False)
class Tracks:
    """A table on disk, of which memory holds only the column that is read.

    The folder has a file for each column, of `count` rows of the number types `kinds`; it is removed with the
    last table that refers to it. The table has the `chosen` rows (n,) of the files, by default all.
    """

    folder: TemporaryDirectory[str]
    kinds: Mapping[str, np.dtype]
    count: int
    chosen: NDArray[np.int32] | None = None

    def __len__(self) -> int:
        return self.count if self.chosen is None else len(self.chosen)

    def __contains__(self, name: object) -> bool:
        return name in self.kinds

    def __getitem__(self, key: Any) -> Any:
        """Read a column (n,) by its name, or choose rows by a mask (n,)."""
        if isinstance(key, str):
            column = np.fromfile(Path(self.folder.name) / key, self.kinds[key])
            return column if self.chosen is None else column[self.chosen]
        chosen = np.flatnonzero(key).astype(np.int32)
        return replace(self, chosen=chosen if self.chosen is None else self.chosen[chosen])


class TracksWriter:
    """Writes tracks piece by piece to scratch files under TMPDIR."""

    def __init__(self) -> None:
        self._folder = scratch_folder()
        self._kinds: dict[str, np.dtype] = {}
        self._count = 0

    def append(self, rows: Mapping[str, NDArray[Any]]) -> None:
        """Add rows, (n,) each column; all calls have the same columns."""
        for name, values in rows.items():
            kind = self._kinds.setdefault(name, values.dtype)
            with (Path(self._folder.name) / name).open("ab") as file:
                values.astype(kind, copy=False).tofile(file)
        self._count += len(next(iter(rows.values())))

    def tracks(self) -> Tracks:
        """Return the table of all rows that were added."""
        return Tracks(self._folder, self._kinds, self._count)
