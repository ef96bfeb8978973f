"""How far hits lie from their own track: residuals about fits within one detector.

In the VELO a hit is compared with the line through its neighbours. To UT and SciFi, Runge-Kutta extrapolates
the path of a particle with the true momentum. This path is moved and turned (in the SciFi also bent) to fit
the hits. The residuals are then due to the errors of the hits, and to a little scattering.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from parkf.detector.field import FieldMap
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, Geometry
from parkf.detector.transport import propagate
from parkf.simulation.pattern.velo import Z_REFERENCE, fit_lines

F64 = npt.NDArray[np.float64]

_INDEPENDENT = 0.2  # a hit is used if at least this fraction of its variance remains in its residual
_MIDDLE = slice(5, 7)  # SciFi layers in its middle


@dataclass(frozen=True)
class Residuals:
    """Distances (n,) of hits from their tracks, scaled to the width of the hits' errors `sigma` (n,); mm."""

    distance: F64
    sigma: F64
    freedom: float  # number of degrees of freedom, of independent distances


@dataclass(frozen=True)
class LocalFits:
    """Residuals of a sample (in the VELO of x and y), and the bending of each track, (n,)."""

    velo: Residuals
    ut: Residuals
    scifi: Residuals
    # |Change of tx/√(1 + tx² + ty²)| from the VELO to the middle of the SciFi, times true p: MeV.
    kick: F64
    # Change of tx between the same points, over the change from the field map for the true momentum.
    bending: F64
    # Scattering between VELO and UT: offset of the UT hits from the path over the distance from the last VELO
    # hit, and the difference of their slope in x from the path's; both times true p, in MeV.
    offset: F64
    turn: F64


def fit_locally(
    candidates: pd.DataFrame, qop: F64, *, geometry: Geometry, field: FieldMap, polarity: int
) -> LocalFits:
    """Fit tracks detector by detector.

    Each of the n rows of the table ``candidates`` has hits of one particle in all four UT layers and in ten
    SciFi layers. `qop` (n,) is their true q/p in 1/MeV, and `polarity` +1 for MagUp. Above 10 GeV, the errors
    of the hits dominate the residuals; softer tracks scatter by more.
    """
    points = np.stack([_stacked(candidates, f"velo_{name}") for name in "xy"], axis=2)
    z, count = _stacked(candidates, "velo_z"), candidates.velo_n.to_numpy()
    used = np.isfinite(z)
    line = fit_lines(np.where(used[..., None], points, 0.0), np.where(used, z, 0.0), count)
    hits = {
        name: np.concatenate([_stacked(candidates, f"{d}_{name}") for d in ("ut", "scifi")], axis=1)
        for name in ("x", "z", "dxdy", "sigma")
    }
    path = _carry(line, qop, hits["z"], geometry=geometry, field=field, polarity=polarity)
    off = hits["x"] - (path[..., 0] - hits["dxdy"] * path[..., 1])

    ut, scifi = slice(0, len(UT_PLANES)), slice(len(UT_PLANES), None)
    about_ut, in_ut = _about_fit(off[:, ut], hits["sigma"][:, ut], _terms(hits, ut, bent=False))
    about_scifi, fitted = _about_fit(off[:, scifi], hits["sigma"][:, scifi], _terms(hits, scifi, bent=True))
    middle = path[:, scifi][:, _MIDDLE].mean(1)
    bent = middle[:, 2] - line[:, 2]
    tx = middle[:, 2] + fitted[:, 1]
    kick = np.abs(_sine(tx, middle[:, 3]) - _sine(line[:, 2], line[:, 3])) / np.abs(qop)
    return LocalFits(
        velo=_about_neighbours(points, z, geometry.velo.resolution),
        ut=about_ut,
        scifi=about_scifi,
        kick=kick,
        bending=(tx - line[:, 2]) / bent,
        offset=in_ut[:, 0] / (hits["z"][:, ut].mean(1) - np.nanmax(z, axis=1)) / np.abs(qop),
        turn=in_ut[:, 1] / np.abs(qop),
    )


def _stacked(rows: pd.DataFrame, name: str) -> F64:
    return np.stack(rows[name].to_list()).astype(np.float64)


def _sine(tx: F64, ty: F64) -> F64:
    return tx / np.sqrt(1 + tx**2 + ty**2)


def _carry(line: F64, qop: F64, z: F64, *, geometry: Geometry, field: FieldMap, polarity: int) -> F64:
    """(n, 16, 4) states at the strips' planes, of particles on lines (n, 4) at the end of the VELO."""
    planes = geometry.planes()[[*UT_PLANES, *SCIFI_PLANES]]
    states, at = np.column_stack([line, qop]), np.full(len(line), Z_REFERENCE)
    path = []
    for layer, (z0, dzdx, dzdy) in enumerate(planes):
        # The z of a hit is that of its stave or module.
        plane = (np.where(np.isfinite(z[:, layer]), z[:, layer], z0), dzdx, dzdy)
        moved = propagate(field, polarity, states, at, plane)
        states, at = moved.states, moved.z
        path.append(states[:, :4])
    return np.stack(path, axis=1)


def _terms(hits: dict[str, F64], layers: slice, *, bent: bool) -> F64:
    """Return derivatives (n, layers, k) by a fit's parameters: x, tx, y and, if `bent`, curvature and ty."""
    z, dxdy = hits["z"][:, layers], hits["dxdy"][:, layers]
    z = (z - np.nanmean(z, axis=1, keepdims=True)) / 1000.0
    columns = [np.ones_like(z), z, -dxdy] + ([z**2, -dxdy * z] if bent else [])
    terms = np.stack(columns, axis=-1)
    terms[..., 1] *= 1000.0  # the slope in radians
    return terms


def _about_fit(off: F64, sigma: F64, terms: F64) -> tuple[Residuals, F64]:
    """Fit every track by least squares; return residuals of hits with freedom left, and parameters (n, k)."""
    used = np.isfinite(off)
    weight = np.where(used, 1.0 / np.where(used, sigma, 1.0), 0.0)
    matrix = np.where(used[..., None], terms, 0.0) * weight[..., None]
    inverse = np.linalg.pinv(matrix)
    fitted = np.einsum("nkl,nl->nk", inverse, weight * np.where(used, off, 0.0))
    residual = off - np.einsum("nlk,nk->nl", np.where(used[..., None], terms, 0.0), fitted)
    left = 1.0 - np.einsum("nlk,nkl->nl", matrix, inverse)
    free = used & (left > _INDEPENDENT)
    return Residuals(residual[free] / np.sqrt(left[free]), sigma[free], float(left[used].sum())), fitted


def _about_neighbours(points: F64, z: F64, sigma: float) -> Residuals:
    """Distances of inner hits from the line through the two next to them."""
    first, last, fraction = z[:, :-2], z[:, 2:], (z[:, 1:-1] - z[:, :-2]) / (z[:, 2:] - z[:, :-2])
    there = np.isfinite(last) & np.isfinite(first)
    fraction = fraction[..., None]
    distance = points[:, 1:-1] - (1 - fraction) * points[:, :-2] - fraction * points[:, 2:]
    distance /= np.sqrt(1 + fraction**2 + (1 - fraction) ** 2)
    inner = distance[there].ravel()
    return Residuals(inner, np.full(len(inner), sigma), float(len(inner)))
