"""Archives of NumPy's arrays, ``.npz``, read with their checksums."""

import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from parkf.io.errors import DamagedFileError, ParkfError
from parkf.io.files import existing

KIND = "an archive of arrays (.npz)"
# Errors that zipfile and NumPy raise, depending on the damaged byte; a damaged length leads to a MemoryError.
_UNREADABLE = (
    *(BadZipFile, zlib.error, ValueError, OSError, EOFError, KeyError),
    *(NotImplementedError, RuntimeError, MemoryError, SyntaxError, TypeError, OverflowError),
)


def load_arrays(
    path: Path, names: Collection[str], optional: Collection[str] = (), *, others: bool = False
) -> dict[str, NDArray[Any]]:
    """Read arrays of an archive: all `names`, and those of `optional` that it has.

    With `others`, it may have more arrays, which are not read. A ParkfError reports a file that is missing,
    lacks an array, or has one too many. A DamagedFileError reports a file that is no such archive, or whose
    bytes are not those that were written.
    """
    with _opened(path) as archive:
        there = set(archive)
        arrays = {name: archive[name] for name in sorted(there & {*names, *optional})}
    if missing := sorted({*names} - there):
        raise ParkfError(f"{path}: without {', '.join(missing)}; it has {', '.join(sorted(there))}")
    if not others and (unknown := sorted(there - {*names, *optional})):
        raise ParkfError(f"{path}: with unknown {', '.join(unknown)}")
    return arrays


def array_names(path: Path) -> list[str]:
    """Return the names of the arrays of an archive; errors as of :func:`load_arrays`."""
    with _opened(path) as archive:
        return sorted(archive)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    with existing(path).open("rb") as file:
        if file.read(2) != b"PK":
            raise DamagedFileError(path, KIND, "it does not begin as such a file does")
    try:
        with np.load(path, allow_pickle=False) as archive:
            yield archive
    except _UNREADABLE as error:
        raise DamagedFileError(path, KIND, str(error)) from error
