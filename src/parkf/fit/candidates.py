"""Candidates in the kernel's layout: the columns of the table, each a contiguous array."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from parkf.io.checks import POLARITY, require
from parkf.io.errors import ParkfError
from parkf.io.planes import SCIFI_LAYERS, UT_LAYERS
from parkf.io.tables import VELO_SLOTS

VELO = ("velo_x", "velo_y", "velo_z")
UT = ("ut_x", "ut_z", "ut_dxdy", "ut_sigma")
SCIFI = ("scifi_x", "scifi_z", "scifi_dxdy", "scifi_sigma")
_SCALARS = ("polarity", "qop", "velo_n")


@dataclass(frozen=True)
class Candidates:
    """A batch of n candidates, in one precision."""

    polarity: NDArray[Any]  # (n,): +1 MagUp, -1 MagDown
    qop: NDArray[Any]  # (n,): the pattern recognition's q/p in 1/MeV
    velo_n: NDArray[np.int32]  # (n,): number of VELO hits
    velo: tuple[NDArray[Any], ...]  # 3 arrays (n, 26): x, y, z in mm, in ascending z
    ut: tuple[
        NDArray[Any], ...
    ]  # 4 arrays (n, 4): x at y = 0, z, dx/dy, σ of each layer, mm; NaN without a hit
    scifi: tuple[NDArray[Any], ...]  # 4 arrays (n, 12): the same for SciFi, with z at y = 0
    nulls: NDArray[np.bool_] | None = None  # (n,): which have a null in a hit, here NaN; None if none has

    @property
    def count(self) -> int:
        """Number of candidates."""
        return len(self.qop)

    def rows(self, index: NDArray[Any] | slice) -> "Candidates":
        """Select some of the candidates. An array of numbers leads to copies, a slice to views."""
        return Candidates(
            polarity=self.polarity[index],
            qop=self.qop[index],
            velo_n=self.velo_n[index],
            velo=tuple(a[index] for a in self.velo),
            ut=tuple(a[index] for a in self.ut),
            scifi=tuple(a[index] for a in self.scifi),
            nulls=None if self.nulls is None else self.nulls[index],
        )

    def pieces(self, size: int) -> "Iterator[Candidates]":
        """Yield views of the candidates, up to `size` at a time; without any, one that is empty."""
        for begin in range(0, max(self.count, 1), size):
            yield self.rows(slice(begin, begin + size))

    def in_precision(self, precision: DTypeLike) -> "Candidates":
        """Return the candidates with numbers of this type, for a fit in it."""
        velo, ut, scifi = (tuple(a.astype(precision) for a in of) for of in (self.velo, self.ut, self.scifi))
        polarity, qop = self.polarity.astype(precision), self.qop.astype(precision)
        return replace(self, polarity=polarity, qop=qop, velo=velo, ut=ut, scifi=scifi)


def from_arrays(arrays: Mapping[str, NDArray[Any]], precision: DTypeLike) -> Candidates:
    """Read candidates from arrays, which have the names in the table ``candidates``; hits are (n, slots).

    C-contiguous arrays in the precision are not copied. Numbers may be rounded to the precision; otherwise
    they stay the same. A ParkfError is raised if an array is missing, has another shape or has no plain
    numbers, if a number of hits is not a whole number, or if a polarity is neither +1 nor -1.
    """
    for name in (*_SCALARS, *VELO, *UT, *SCIFI):
        if name not in arrays:
            raise ParkfError(f"candidates: '{name}' is missing")
    count = len(arrays["qop"])
    require("candidates", arrays, POLARITY)

    def contiguous(name: str, shape: tuple[int, ...], dtype: DTypeLike = precision) -> NDArray[Any]:
        if arrays[name].shape != shape:
            raise ParkfError(f"candidates: '{name}' has shape {arrays[name].shape}, expected {shape}")
        _check_numbers(arrays[name], name, np.dtype(dtype))
        return np.ascontiguousarray(arrays[name], dtype=dtype)

    return Candidates(
        polarity=contiguous("polarity", (count,)),
        qop=contiguous("qop", (count,)),
        velo_n=contiguous("velo_n", (count,), np.int32),
        velo=tuple(contiguous(name, (count, VELO_SLOTS)) for name in VELO),
        ut=tuple(contiguous(name, (count, UT_LAYERS)) for name in UT),
        scifi=tuple(contiguous(name, (count, SCIFI_LAYERS)) for name in SCIFI),
    )


def _check_numbers(values: NDArray[Any], name: str, target: np.dtype[Any]) -> None:
    """Refuse values that are no plain numbers, or that the target type cannot represent."""
    if values.dtype.kind not in "iuf":
        raise ParkfError(f"candidates: '{name}' has type {values.dtype}, expected numbers")
    if np.ma.is_masked(values):
        raise ParkfError(
            f"candidates: '{name}' has masked entries; fill them, hits that are missing with NaN"
        )
    if target.kind == "i" and values.dtype != target:
        limits = np.iinfo(target)
        whole = (values == np.floor(values)) & (values >= limits.min) & (values <= limits.max)
        if not whole.all():
            row = int(np.argmin(whole))
            raise ParkfError(f"candidates: '{name}', row {row}: got {values[row]}, expected a whole number")
