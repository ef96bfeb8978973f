"""Electrons: the momentum where they were produced, from a fit that takes them for pions.

An electron radiates photons in the material in front of the magnet. They change no direction, and the magnet
measures the momentum that is left. A set with numbers for electrons has the density of what was lost, a
mixture of little and of hard radiation (``src/kernel/fit/electron.hpp``).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

import parkf._electron as _electron
from parkf.fit import cpu
from parkf.fit.candidates import Candidates
from parkf.fit.fitted import Fitted, is_good
from parkf.io.errors import ParkfError
from parkf.io.kinds import KINDS
from parkf.io.tables import ELECTRON
from parkf.params.parameter_set import ParameterSet

F64 = NDArray[np.float64]

UPSTREAM = KINDS["upstream"]
# Columns of the result behind q/p and its variance, in the order of the kernel.
NAMES = tuple(name for name, _ in ELECTRON if not name.startswith("pion_"))


class TrackSeen(NamedTuple):
    """What fits of a pion say of tracks, (n,) each, as functions of the kernel take them."""

    qop: F64  # 1/MeV
    variance: F64
    velo_hits: F64
    upstream_qop: F64  # of VELO and UT hits alone; NaN where there is no such fit
    upstream_variance: F64

    @classmethod
    def of(cls, fitted: Fitted, upstream: Fitted, tracks: Candidates) -> tuple[Self, NDArray[np.bool_]]:
        """Return what both fits say, and which tracks have a good fit of all hits with a momentum, (n,)."""
        seen = np.where(is_good(upstream.status), upstream.qop, np.nan).astype(np.float64)
        qop, variance = (np.asarray(one, np.float64) for one in (fitted.qop, fitted.qopqop))
        made = cls(
            qop,
            variance,
            np.asarray(tracks.velo_n, np.float64),
            seen,
            np.asarray(upstream.qopqop, np.float64),
        )
        return made, is_good(fitted.status) & (qop != 0) & (variance > 0) & np.isfinite(qop)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Join the tracks of several parts."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))

    def rows(self, rows: NDArray[Any]) -> Self:
        """Return the tracks that a mask or row numbers choose."""
        return type(self)(*(np.ascontiguousarray(column[rows]) for column in self))


def needed(parameters: ParameterSet) -> F64:
    """Return a set's numbers for electrons; a set without them raises a ParkfError."""
    if parameters.electron is None or parameters.slices is None:
        raise ParkfError(
            "electrons: the parameter set has no numbers for them, which sets have since manifest format 9;"
            " train one, or take a newer one of `parkf params list`"
        )
    return parameters.electron


def as_electrons(
    parameters: ParameterSet, tracks: Candidates, fitted: Fitted, *, threads: int | None = None
) -> Fitted:
    """Replace q/p and its variance by those of electrons, and add the columns ``ELECTRON`` by name.

    `fitted` are plain fits of the candidates. Tracks without a good fit keep their q/p, and have NaN in the
    other columns. The estimate is the most probable value of ln p; where half of the density lies beyond a
    large loss, it is the median. Its error is half of the central 68 % of q/p.
    """
    numbers = needed(parameters)
    upstream = cpu.fit_kind(parameters, tracks, UPSTREAM, threads=threads)
    seen, good = TrackSeen.of(fitted, upstream, tracks)
    found = np.full((2 + len(NAMES), len(good)), np.nan)
    found[:2] = fitted.qop, fitted.qopqop
    found[:, good] = _electron.estimate(numbers, *seen.rows(good))
    rows = found.astype(fitted.qop.dtype)
    more = {"pion_qop": fitted.qop, "pion_qopqop": fitted.qopqop, **dict(zip(NAMES, rows[2:], strict=True))}
    return replace(fitted, qop=rows[0], qopqop=rows[1], more={**fitted.more, **more})


def density(numbers: F64, seen: TrackSeen, loss: F64) -> tuple[F64, F64]:
    """Return the density of ln(p where produced / p of the fit) at `loss`, and its integral, (n,)."""
    at, below = _electron.density(numbers, *seen, np.ascontiguousarray(loss, np.float64))
    return at, below
