"""Derivatives of residuals with respect to displacements of elements.

An element at r is displaced to r + T + ω × (r − c), by a shift T and rotations ω about its centre c. A
track with the slopes t = (tx, ty, 1) then crosses it elsewhere: in the element's own coordinates by t·dz −
δ, where δ is the displacement of the point that it crosses, and dz its way to the displaced plane. A hit
measures x − dx/dy·y of this. The measured coordinate, and with it the residual, changes by the same amount.

All derivatives have the sign of what a displacement does to the measured coordinates: residuals r are A·α
plus noise, with the true displacements α relative to those that were assumed.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parkf.data.equations import Floats
from parkf.detector.geometry import SCIFI_PLANES, UT_PLANES, VELO_PLANES, Geometry
from parkf.fit.candidates import Candidates
from parkf.fit.fitted import Fitted
from parkf.fit.residuals import SLOT_OF, Residuals
from parkf.io.tables import VELO_SLOTS

FREEDOMS = ("x", "y", "z", "rx", "ry", "rz")
"""Shifts (mm) and rotations (rad) of an element, as in an alignment file."""
SECTIONS = ("velo_modules", "ut_layers", "scifi_layers")
_PLANES = (*VELO_PLANES, *UT_PLANES, *SCIFI_PLANES)


@dataclass(frozen=True)
class Elements:
    """The m elements that are aligned: VELO modules, UT layers, SciFi layers."""

    names: list[tuple[str, int]]  # section and key of an alignment file
    centre: Floats  # (m, 3), mm
    axes: Floats  # (m, 3, 3): along u and v, and the normal, as columns
    lean: Floats  # (m, 2): dz/dx and dz/dy of its plane

    @classmethod
    def of(cls, geometry: Geometry) -> "Elements":
        """Take the modules and layers of a geometry, where its alignment has them."""
        sections = zip(SECTIONS, (VELO_PLANES, UT_PLANES, SCIFI_PLANES), strict=True)
        names = [(section, number) for section, planes in sections for number in range(len(planes))]
        frames = [geometry.frames[plane] for plane in _PLANES]
        axes = [np.column_stack([f.axis_u, f.axis_v, np.cross(f.axis_u, f.axis_v)]) for f in frames]
        centre, lean = [one.origin for one in frames], [one.plane[1:] for one in frames]
        return cls(names, np.array(centre), np.array(axes), np.array(lean))

    def module(self, z: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the number of the VELO module whose z is nearest, of the shape of `z` (mm)."""
        planes = self.centre[: len(VELO_PLANES), 2]
        order = np.argsort(planes)
        return order[nearest(planes[order], z)]

    def of_hits(self, tracks: Candidates, residuals: Residuals) -> NDArray[np.int64]:
        """Return the number of the element of each coordinate, (68, n); any number without a hit."""
        velo = residuals.modules(tracks, self.module)
        strips = np.arange(len(VELO_PLANES), len(self.names))
        return np.concatenate([velo, velo, np.repeat(strips[:, None], tracks.count, axis=1)])


def nearest(places: Floats, z: NDArray[np.floating]) -> NDArray[np.int64]:
    """Return which of some places, in ascending order, is the nearest, of the shape of `z`."""
    return np.searchsorted(0.5 * (places[1:] + places[:-1]), z)


def derivatives(
    tracks: Candidates, fitted: Fitted, residuals: Residuals, elements: Elements
) -> tuple[NDArray[np.int64], Floats]:
    """Return the element of each coordinate, (68, n), and ∂(residual)/∂(its freedoms), (68, 6, n).

    Units are mm/mm and mm/rad; a coordinate that a track does not have has 0.
    """
    element = elements.of_hits(tracks, residuals)
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
