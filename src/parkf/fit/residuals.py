"""Residuals of hits from the other hits of their track, with errors and covariances, by the smoother.

Let r be the residuals of a track's measured coordinates from a prediction that no hit has entered, and V
their covariance: hit errors, scattering, start and q/p. The fit gives w = V⁻¹r, and W = V⁻¹ of it, for each
track. Everything else follows. The residual of a coordinate from all other hits is w/W_ii, with variance
1/W_ii; the residual from the fit is R·w, with covariance R·W·R for hit variances R (W. Hulsbergen, Nucl.
Instrum. Meth. A 600 (2009) 471). If hits move by A·α, then the derivative of χ² with respect to α is 2·Aᵀw,
and its expectation grows by 2·AᵀWA·α. The derivative of the log likelihood with respect to a factor f² on a
part Q of the covariance is ½(wᵀQw − tr(QW)); the fit gives both terms for the noise of each step.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.fit import cpu
from parkf.fit.candidates import Candidates
from parkf.fit.fitted import Fitted
from parkf.io.option_types import Origin
from parkf.io.planes import SCIFI_LAYERS, UT_LAYERS
from parkf.io.tables import VELO_SLOTS
from parkf.params.parameter_set import ParameterSet

STRIPS = UT_LAYERS + SCIFI_LAYERS
SLOTS = VELO_SLOTS + STRIPS
"""VELO slots, UT layers, SciFi layers."""
COORDINATES = VELO_SLOTS + SLOTS
"""x of the VELO slots, y of the VELO slots, UT layers, SciFi layers."""
SLOT_OF = np.concatenate([np.arange(VELO_SLOTS), np.arange(SLOTS)])
"""Slot of each coordinate, (68,)."""


def _packed() -> NDArray[np.int64]:
    place = np.diag(COORDINATES * (COORDINATES - 1) // 2 + np.arange(COORDINATES))
    i, j = np.tril_indices(COORDINATES, -1)
    place[i, j] = place[j, i] = np.arange(len(i))
    return place


PACKED = _packed()
"""Place of each element of V⁻¹ in a row of :meth:`Residuals.packed`, (68, 68)."""


@dataclass(frozen=True)
class Residuals:
    """Comparisons of the coordinates of n tracks, (68, n) each, and states and steps by slot.

    A coordinate that a track does not have has w = d = by_k = 0. In the VELO, slot 1 has the second hit that
    the fit starts from, whose number in the candidate is ``second``.
    """

    w: NDArray[Any]  # (68, n), 1/mm: element of V⁻¹r
    d: NDArray[Any]  # (68, n), 1/mm²: diagonal element of V⁻¹, at given q/p
    by_k: NDArray[Any]  # (68, n), MeV/mm: decrease of w for q/p larger by 1/MeV
    qop_variance: NDArray[Any]  # (n,), 1/MeV²
    state: NDArray[Any]  # (42, 4, n): smoothed x, y (mm), tx, ty at each hit; in the VELO 0 without a hit
    scatter: NDArray[Any]  # (42, 2, n): wᵀQw and tr(QW) of the noise of the step to each slot
    variance: NDArray[Any]  # (68, n), mm²: of the hits themselves; 1 without a hit
    dxdy: NDArray[Any]  # (16, n): of UT and SciFi hits; 0 without a hit
    second: NDArray[np.int64]  # (n,)
    noise: NDArray[Any] | None = None  # (42, 6, n): xx, xtx, txtx, yy, yty, tyty of the step to each slot
    pairs: NDArray[Any] | None = None  # (2278, n): lower triangle of V⁻¹ at given q/p without its diagonal

    @property
    def has(self) -> NDArray[np.bool_]:
        """Whether a track has the coordinate, (68, n)."""
        return self.d > 0

    @property
    def weight(self) -> NDArray[Any]:
        """Diagonal elements of W, with q/p free, (68, n), 1/mm²; NaN without a coordinate."""
        left = self.d - self.by_k**2 * self.qop_variance
        return np.where(self.has & (left > 0), left, np.nan)

    def modules(
        self, tracks: Candidates, number: Callable[[NDArray[Any]], NDArray[np.int64]]
    ) -> NDArray[np.int64]:
        """Return the modules of the VELO slots, (26, n), by a function of the z of their hits, mm."""
        z = tracks.velo[2].T.copy()
        z[1] = tracks.velo[2][np.arange(tracks.count), self.second]
        return number(z)

    def packed(self) -> NDArray[np.float64]:
        """V⁻¹ of each track at given q/p, without elements twice, (n, 2346), 1/mm²; see :data:`PACKED`."""
        if self.pairs is None:
            raise ValueError("these residuals were computed without covariances")
        return np.ascontiguousarray(np.concatenate([self.pairs, self.d]).T, np.float64)


def fit_residuals(
    parameters: ParameterSet,
    tracks: Candidates,
    *,
    covariances: bool = False,
    threads: int | None = None,
    origin: Origin = "vertex",
    build: str = "",
) -> tuple[Fitted, Residuals]:
    """Fit candidates by the smoother, and compare each hit with all others of its track.

    The fits are those of :func:`parkf.fit.fit`, to rounding. `covariances` adds ``noise`` and ``pairs``,
    2530 numbers a track; take float64 and some thousand tracks at a time then.
    """
    fitted, rows = cpu.fit_residuals(
        parameters, tracks, covariances=covariances, threads=threads, origin=origin, build=build
    )
    sizes = (COORDINATES, COORDINATES, COORDINATES, 4 * SLOTS, 2 * SLOTS, 6 * SLOTS)
    w, d, by_k, state, scatter, noise, pairs = np.split(rows, np.cumsum(sizes))
    second = np.argmax(tracks.velo[2] > tracks.velo[2][:, :1], axis=1)
    measured = [np.where(np.isfinite(hits[0]), hits[3], 1).T for hits in (tracks.ut, tracks.scifi)]
    velo = np.full((2 * VELO_SLOTS, tracks.count), parameters.manifest.constants.velo_sigma, w.dtype)
    slopes = [np.where(np.isfinite(hits[0]), hits[2], 0).T for hits in (tracks.ut, tracks.scifi)]
    return fitted.flagged(tracks.nulls, "null_number"), Residuals(
        w=w,
        d=d,
        by_k=by_k,
        qop_variance=fitted.qopqop,
        state=state.reshape(SLOTS, 4, -1),
        scatter=scatter.reshape(SLOTS, 2, -1),
        variance=np.concatenate([velo, *measured]) ** 2,
        dxdy=np.concatenate(slopes),
        second=second,
        noise=noise.reshape(SLOTS, 6, -1) if covariances else None,
        pairs=pairs if covariances else None,
    )
