"""Archives of NumPy's arrays, ``.npz``, read with their checksums."""

import zlib
from collections.abc import Collection
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from parkf.io.errors import DamagedFileError, ParkfError, few
from parkf.io.files import existing

KIND = "an archive of arrays (.npz)"
# Errors that zipfile and NumPy raise, depending on the damaged byte; a damaged length leads to a MemoryError.
_UNREADABLE = (
    *(BadZipFile, zlib.error, ValueError, OSError, EOFError, KeyError),
    *(NotImplementedError, RuntimeError, MemoryError, SyntaxError, TypeError, OverflowError),
)


def load_arrays(
    path: Path, names: Collection[str] | None = None, optional: Collection[str] = (), *, others: bool = False
) -> dict[str, NDArray[Any]]:
    """Read arrays of an archive: all `names`, and those of `optional` that it has; by default, all arrays.

    With `others`, the archive may have more arrays, which are not read. A ParkfError reports a missing file,
    a missing array, or an array too many. A DamagedFileError reports a file that is not an archive of arrays,
    or whose bytes have changed.
    """
    with existing(path).open("rb") as file:
        if file.read(2) != b"PK":
            raise DamagedFileError(path, KIND, "it does not begin as such a file does")
    try:
        with np.load(path, allow_pickle=False) as archive:
            there = set(archive)
            names = there if names is None else names
            arrays = {name: archive[name] for name in sorted(there & {*names, *optional})}
            if no_array := [name for name, array in arrays.items() if not isinstance(array, np.ndarray)]:
                raise ValueError(f"{no_array[0]} is no array")
    except _UNREADABLE as error:
        raise DamagedFileError(path, KIND, few([error], longest=200)) from error
    if missing := sorted({*names} - there):
        raise ParkfError(
            f"{path}: without {few(missing)}; it has {few(sorted(there))},"
            f" expected {', '.join(sorted(names))}: add what is missing"
        )
    if not others and (unknown := sorted(there - {*names, *optional})):
        raise ParkfError(
            f"{path}: with unknown {few(unknown)}, expected {', '.join(sorted(names))}; remove the rest"
        )
    return arrays
