"""The files of numbers of a parameter set: little-endian float32, each with its checksum in the manifest."""

import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from parkf.io.errors import DamagedFileError, ParkfError
from parkf.io.files import replacing
from parkf.params.manifest import Blob, BlockDescription, numbers_in
from parkf.params.set_folder import SetFolder

F32 = NDArray[np.float32]

CACHE_LINE = 64  # bytes


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
    """Read a set's file of finite numbers, (expected,) float32.

    One that is not as described, or has a number that is not finite, raises a ParkfError.
    """
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
    numbers = np.frombuffer(content, dtype="<f4").astype(np.float32)
    refuse_non_finite(str(path), numbers)
    return numbers


def refuse_non_finite(where: str, numbers: F32) -> None:
    """Raise a ParkfError if one of the numbers is not finite."""
    for position in np.argwhere(~np.isfinite(numbers))[:1]:
        index = ",".join(map(str, position))
        raise ParkfError(f"{where}: index {index}: got {numbers[tuple(position)]}, expected a number")


def refuse_others(manifest: Path, layout: list[BlockDescription], numbers: F32, file: str) -> None:
    """Raise a ParkfError if a manifest describes other numbers than those of a file, in their order."""
    told = list(numbers_in(layout))
    with np.errstate(over="ignore"):
        others = np.array([number.value for *_, number in told]).astype(np.float32) != numbers
    for position in np.flatnonzero(others)[:1]:
        block, label, index, number = told[position]
        raise ParkfError(
            f"{manifest}: layout: block {block}, {label}, index {index}: got {number.value:.9g}, expected"
            f" {numbers[position]:.9g} of {file}"
        )


def aligned(numbers: F32) -> F32:
    """Return the numbers, copied if they do not begin at a cache line."""
    if numbers.ctypes.data % CACHE_LINE == 0 or not numbers.size:
        return numbers
    room = np.empty(numbers.nbytes + CACHE_LINE, dtype=np.uint8)
    start = -room.ctypes.data % CACHE_LINE
    moved = room[start : start + numbers.nbytes].view(numbers.dtype).reshape(numbers.shape)
    moved[...] = numbers
    return moved
