"""Tables of many tracks, whose columns stay on disk until they are read."""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from parkf.io.files import scratch_folder


class Rows(Protocol):
    """What figures are computed from: a DataFrame, or :class:`Tracks`."""

    def __len__(self) -> int: ...

    def __contains__(self, name: object) -> bool: ...

    def __getitem__(self, key: Any) -> Any:
        """Return a column (n,) by its name, or the rows for which a mask (n,) holds."""


class Tracks:
    """A table on disk, of which memory holds only the column that is read.

    The folder has a file for each column, of `count` rows of the number types `kinds`; it is removed with the
    last table that refers to it. The table has the `chosen` rows (n,) of the files, by default all.
    """

    def __init__(
        self,
        folder: TemporaryDirectory[str],
        kinds: Mapping[str, np.dtype],
        count: int,
        chosen: NDArray[np.int32] | None = None,
    ) -> None:
        self._folder = folder
        self._kinds = kinds
        self._count = count
        self._chosen = chosen

    def __len__(self) -> int:
        return self._count if self._chosen is None else len(self._chosen)

    def __contains__(self, name: object) -> bool:
        """Whether there is a column of that name."""
        return name in self._kinds

    def __getitem__(self, key: Any) -> Any:
        """Read a column (n,) by its name, or choose rows by a mask (n,)."""
        if isinstance(key, str):
            column = np.fromfile(Path(self._folder.name) / key, self._kinds[key])
            return column if self._chosen is None else column[self._chosen]
        chosen = np.flatnonzero(key).astype(np.int32)
        if self._chosen is not None:
            chosen = self._chosen[chosen]
        return Tracks(self._folder, self._kinds, self._count, chosen)


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
        """Return what was written."""
        return Tracks(self._folder, self._kinds, self._count)
