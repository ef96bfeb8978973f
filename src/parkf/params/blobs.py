"""The files of numbers of a parameter set: little-endian float32, each with its checksum in the manifest."""

import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from parkf.io.errors import DamagedFileError, ParkfError
from parkf.io.files import replacing
from parkf.params.manifest import Blob
from parkf.params.set_folder import SetFolder

F32 = NDArray[np.float32]


def blob_of(numbers: F32) -> Blob:
    """Describe the file of these numbers."""
    return Blob(numbers=numbers.size, sha256=hashlib.sha256(numbers.astype("<f4").tobytes()).hexdigest())


def write_blob(path: Path, numbers: F32 | None) -> None:
    """Write a file of numbers; without numbers, remove a file from before."""
    if numbers is None:
        path.unlink(missing_ok=True)
        return
    with replacing(path) as temporary:
        temporary.write_bytes(numbers.astype("<f4").tobytes())


def read_blob(files: SetFolder, name: str, blob: Blob, expected: int) -> F32:
    """Read a set's file of numbers, (expected,) float32; one that is not as described raises a ParkfError."""
    content, path = files.read(name), files.path / name
    if len(content) != 4 * expected:
        raise DamagedFileError.said(
            path, f"{path}: {len(content)} bytes, expected {4 * expected} ({expected} numbers of float32)"
        )
    if blob.numbers != expected:
        raise ParkfError(f"{path}: the manifest says {blob.numbers} numbers, expected {expected}")
    got = hashlib.sha256(content).hexdigest()
    if got != blob.sha256:
        raise DamagedFileError.said(
            path, f"{path}: sha256 {got}, the manifest says {blob.sha256}; one of the two was changed"
        )
    return np.frombuffer(content, dtype="<f4").astype(np.float32)


def read_finite_blob(files: SetFolder, name: str, blob: Blob, expected: int) -> F32:
    """Read a file as :func:`read_blob` does; a number that is not finite raises a ParkfError, too."""
    numbers = read_blob(files, name, blob, expected)
    for position in np.flatnonzero(~np.isfinite(numbers))[:1]:
        raise ParkfError(f"{files.path / name}: index {position}: got {numbers[position]}, expected a number")
    return numbers
