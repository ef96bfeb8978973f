"""Candidates in the kernel's layout: the columns of the table, each a contiguous array."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

VELO = ("velo_x", "velo_y", "velo_z")
UT = ("ut_x", "ut_z", "ut_dxdy", "ut_sigma")
SCIFI = ("scifi_x", "scifi_z", "scifi_dxdy", "scifi_sigma")


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
    """Take candidates from arrays that have the names in the table ``candidates``; hits are (n, slots).

    C-contiguous arrays in the precision are not copied. :func:`parkf.fit.hits.hits_of` checks those of users.
    """

    def contiguous(name: str, dtype: DTypeLike = precision) -> NDArray[Any]:
        return np.ascontiguousarray(arrays[name], dtype=dtype)

    return Candidates(
        polarity=contiguous("polarity"),
        qop=contiguous("qop"),
        velo_n=contiguous("velo_n", np.int32),
        velo=tuple(map(contiguous, VELO)),
        ut=tuple(map(contiguous, UT)),
        scifi=tuple(map(contiguous, SCIFI)),
    )
