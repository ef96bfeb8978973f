"""Derivatives of residuals with respect to displacements of elements.

An element at r is displaced to r + T + ω × (r − c), by a shift T and rotations ω about its centre c. A
track with the slopes t = (tx, ty, 1) then crosses it elsewhere: in the element's own coordinates by t·dz −
δ, where δ is the displacement of the point that it crosses, and dz its way to the displaced plane. A hit
measures x − dx/dy·y of this. The measured coordinate, and with it the residual, changes by the same amount.

All derivatives have the sign of what a displacement, or a stronger field, does to the measured coordinates:
residuals r are A·α plus noise, with the true displacements α relative to those that were assumed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES, Geometry
from parkf.fit.candidates import Candidates
from parkf.fit.fitted import Fitted
from parkf.fit.residuals import SLOT_OF, START, Residuals, fit_residuals
from parkf.io.planes import UT_LAYERS
from parkf.io.tables import VELO_SLOTS
from parkf.params.parameter_set import ParameterSet

Floats = NDArray[np.float64]

FREEDOMS = ("x", "y", "z", "rx", "ry", "rz")
"""Shifts (mm) and rotations (rad) of an element, as in an alignment file."""
SECTIONS = ("velo_modules", "ut_layers", "scifi_layers")
_FIELD = 1e-4  # fraction by which the field is changed
_PASSES = 2  # of fits whose residuals are taken away


@dataclass(frozen=True)
class Elements:
    """The m elements that are aligned: VELO modules, UT layers, SciFi layers."""

    names: list[tuple[str, int]]  # section and key of an alignment file
    centre: Floats  # (m, 3), mm
    lean: Floats  # (m, 2): dz/dx and dz/dy of its plane

    @classmethod
    def of(cls, geometry: Geometry) -> "Elements":
        """Take the modules and layers of a geometry, where its alignment has them."""
        planes = dict(zip(SECTIONS, (VELO_PLANES, UT_PLANES, SCIFI_PLANES), strict=True))
        names = [(section, number) for section in SECTIONS for number in range(len(planes[section]))]
        frames = [geometry.frames[planes[section][number]] for section, number in names]
        return cls(
            names, np.array([one.origin for one in frames]), np.array([one.plane[1:] for one in frames])
        )

    @property
    def parameters(self) -> list[str]:
        """Names of the 6m parameters: section, key and freedom."""
        return [f"{section} {key} {freedom}" for section, key in self.names for freedom in FREEDOMS]

    def module(self, z: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the number of the VELO module whose z is nearest, of the shape of `z` (mm)."""
        planes = self.centre[: len(VELO_PLANES), 2]
        order = np.argsort(planes)
        between = 0.5 * (planes[order][1:] + planes[order][:-1])
        return order[np.searchsorted(between, z)]


def element_of(tracks: Candidates, residuals: Residuals, elements: Elements) -> NDArray[np.int64]:
    """Return the number of the element of each coordinate, (68, n); any number without a hit."""
    velo = residuals.modules(tracks, elements.module)
    strips = np.arange(len(VELO_PLANES), len(elements.names))
    return np.concatenate([velo, velo, np.repeat(strips[:, None], tracks.count, axis=1)])


def derivatives(
    tracks: Candidates, fitted: Fitted, residuals: Residuals, elements: Elements
) -> tuple[NDArray[np.int64], Floats]:
    """Return the element of each coordinate, (68, n), and ∂(residual)/∂(its freedoms), (68, 6, n).

    Units are mm/mm and mm/rad; a coordinate that a track does not have has 0.
    """
    element = element_of(tracks, residuals, elements)
    x, y, tx, ty = residuals.state[SLOT_OF].transpose(1, 0, 2).astype(np.float64)
    centre, lean = elements.centre[element], elements.lean[element]
    away_x, away_y = x - centre[..., 0], y - centre[..., 1]
    # Height of the crossing above the element's centre, on its plane.
    away_z = lean[..., 0] * away_x + lean[..., 1] * away_y
    none, one = np.zeros_like(x), np.ones_like(x)
    # Displacement of the crossing by each freedom: x, y, z, then ω × (r − c).
    displaced = np.stack(
        [
            np.stack([one, none, none]),
            np.stack([none, one, none]),
            np.stack([none, none, one]),
            np.stack([none, -away_z, away_y]),
            np.stack([away_z, none, -away_x]),
            np.stack([-away_y, away_x, none]),
        ]
    )
    dx, dy, dz = displaced.transpose(1, 0, 2, 3)
    # The plane moves along z by dz − lean·(dx, dy); the track meets it where its own z is.
    way = (dz - lean[..., 0] * dx - lean[..., 1] * dy) / (1 - lean[..., 0] * tx - lean[..., 1] * ty)
    moved_x, moved_y = tx * way - dx, ty * way - dy
    slope = np.zeros_like(x)
    slope[2 * VELO_SLOTS :] = residuals.dxdy
    is_y = np.zeros((len(x), 1), bool)
    is_y[VELO_SLOTS : 2 * VELO_SLOTS] = True
    measured = np.where(is_y, moved_y, moved_x - slope * moved_y)
    return element, np.where(residuals.has, measured, 0.0).transpose(1, 0, 2)


def by_field(parameters: ParameterSet, tracks: Candidates, fitted: Fitted, residuals: Residuals) -> Floats:
    """Return ∂(predicted coordinates)/∂(scale of the field) at given q/p, (68, n), mm.

    The candidates are in float64, and `residuals` have covariances. The scale is that of all bends; energy
    loss and noise stay. The first two hits, from which the fit starts, keep their places. These are central
    differences of fits in a stronger and a weaker field, of tracks without scattering: with residuals,
    weights that change with the field would count as its bend. A track without a fit has 0.
    """
    still = unscattered(parameters, tracks, fitted, residuals)
    here, at = fit_residuals(parameters, still, covariances=True)
    (up, at_up), (down, at_down) = (
        fit_residuals(parameters, replace(still, polarity=still.polarity * (1 + way * _FIELD)))
        for way in (1, -1)
    )
    by_w = (at_up.w - at_down.w) / (2 * _FIELD)
    # q/p follows the field, and does so again in `by_k`.
    by_qop = np.where(np.isfinite(here.qop), (up.qop - down.qop) / (2 * _FIELD), 0.0)
    return -displacement(at, by_w + at.by_k * by_qop)


def unscattered(
    parameters: ParameterSet, tracks: Candidates, fitted: Fitted, residuals: Residuals
) -> Candidates:
    """Return candidates whose hits lie where their fits, without scattering, predict them.

    The first two hits and q/p are those of the fit; `residuals` need covariances. The prediction is good to
    1e-4 of the hits' errors.
    """
    still = replace(tracks, qop=np.where(np.isfinite(fitted.qop), fitted.qop, tracks.qop))
    for number in range(_PASSES):
        if number:
            residuals = fit_residuals(parameters, still, covariances=True)[1]
        still = _shifted(still, -displacement(residuals, residuals.w), residuals.second)
    return still


def displacement(residuals: Residuals, w: NDArray[np.floating]) -> Floats:
    """Return the displacements r (68, n), mm, with V⁻¹r = `w` that leave the first two hits in place."""
    behind = residuals.has.copy()
    behind[list(START)] = False
    behind &= np.isfinite(w)
    matrix = residuals.precision() * (behind.T[:, :, None] & behind.T[:, None, :])
    every = np.arange(len(w))
    matrix[:, every, every] += ~behind.T
    solved = np.linalg.solve(matrix, np.where(behind, w, 0.0).T[..., None].astype(np.float64))
    return np.asarray(solved[..., 0].T, np.float64)


def on_track(
    parameters: ParameterSet,
    tracks: Candidates,
    elements: Elements,
    chosen: Mapping[str, float],
    step: float = 1e-3,
) -> dict[str, Floats]:
    """Differentiate whole fits, by fits of hits displaced by ± `step` times a combination of freedoms.

    `chosen` has the combination by the names of :attr:`Elements.parameters`. The results are the derivatives
    of ``w`` (68, n), ``chi2`` (n,) and ``qop`` (n,), in float64. They include what the fit does anew with
    displaced hits: the q/p and the states at which it evaluates steps and noise. The normal equations of an
    alignment leave this out, as Gauss and Newton do: it is some thousandths of ``w``.
    """
    fitted, residuals = fit_residuals(parameters, tracks)
    element, slopes = derivatives(tracks, fitted, residuals, elements)
    factor = np.zeros((len(elements.names), len(FREEDOMS)))
    factor.ravel()[[elements.parameters.index(name) for name in chosen]] = list(chosen.values())
    moved = (slopes * factor[element].transpose(0, 2, 1)).sum(axis=1)
    (up, at_up), (down, at_down) = (
        fit_residuals(parameters, _shifted(tracks, way * step * moved, residuals.second)) for way in (1, -1)
    )
    found = {"w": at_up.w - at_down.w, "chi2": up.chi2 - down.chi2, "qop": up.qop - down.qop}
    return {name: np.asarray(difference, np.float64) / (2 * step) for name, difference in found.items()}


def _shifted(tracks: Candidates, shift: Floats, second: NDArray[np.int64]) -> Candidates:
    """Return candidates with coordinates larger by `shift` (68, n), mm; slot 1 is hit `second` (n,)."""
    moved = shift.astype(tracks.qop.dtype).T
    every = np.arange(tracks.count)
    velo = []
    for axis, here in enumerate((moved[:, :VELO_SLOTS], moved[:, VELO_SLOTS : 2 * VELO_SLOTS])):
        by = here.copy()
        # The hits between the first and the second one are not used.
        by[:, 1] = 0
        by[every, second] = here[:, 1]
        velo.append(tracks.velo[axis] + by)
    ut, scifi = np.split(moved[:, 2 * VELO_SLOTS :], [UT_LAYERS], axis=1)
    return replace(
        tracks,
        velo=(*velo, tracks.velo[2]),
        ut=(tracks.ut[0] + ut, *tracks.ut[1:]),
        scifi=(tracks.scifi[0] + scifi, *tracks.scifi[1:]),
    )
