"""Flat elements in space, and pieces of planes at real positions: VELO sensors, UT sectors, SciFi mats."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_NEAREST = 8  # centres to search for the piece that contains a point, as pieces differ in size


@dataclass(frozen=True)
class Frame:
    """Points are ``origin + u axis_u + v axis_v``; the axes need not be orthogonal or of length 1.

    All are (3,) float64 in mm, in the detector's (x, y, z), or (m, 3) for m elements; what is computed then
    has m rows.
    """

    origin: Floats
    axis_u: Floats
    axis_v: Floats

    @classmethod
    def upright(cls, z: float, dzdy: float = 0.0) -> Self:
        """Frame in which u = x and v = y, at z + dzdy y."""
        return cls(np.array([0.0, 0.0, z]), np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, dzdy]))

    def displaced(self, rotation: Floats, shift: Floats, centre: Floats) -> Self:
        """Rotate about `centre` by a (3, 3) matrix, then shift by (3,) mm."""
        return replace(
            self,
            origin=centre + (self.origin - centre) @ rotation.T + shift,
            axis_u=self.axis_u @ rotation.T,
            axis_v=self.axis_v @ rotation.T,
        )

    @cached_property
    def to_local(self) -> Floats:
        """(2, 2) matrix that converts (x, y) - origin of a point on the plane to (u, v)."""
        return np.asarray(np.linalg.inv(np.stack([self.axis_u[..., :2], self.axis_v[..., :2]], axis=-1)))

    @cached_property
    def plane(self) -> Floats:
        """(z0, dzdx, dzdy) of the plane, as (3,) float64."""
        slopes = np.stack([self.axis_u[..., 2], self.axis_v[..., 2]], -1)[..., None, :] @ self.to_local
        z0 = self.origin[..., 2] - np.sum(slopes[..., 0, :] * self.origin[..., :2], axis=-1)
        return np.concatenate([z0[..., None], slopes[..., 0, :]], axis=-1)

    def local(self, x: Floats, y: Floats, index: Any = ()) -> tuple[Floats, Floats]:
        """(u, v) of points with these x and y, any shape, mm, on the plane, or on the elements `index`."""
        m, origin = self.to_local[index], self.origin[index]
        dx, dy = x - origin[..., 0], y - origin[..., 1]
        return m[..., 0, 0] * dx + m[..., 0, 1] * dy, m[..., 1, 0] * dx + m[..., 1, 1] * dy

    def points(self, u: Floats, v: Floats) -> tuple[Floats, Floats, Floats]:
        """(x, y, z) of local points, any shape, mm."""
        axes = (self.origin, self.axis_u, self.axis_v)
        x, y, z = (origin + u * a + v * b for origin, a, b in zip(*(axis.T for axis in axes), strict=True))
        return x, y, z

    def lines(self, across: Floats, dxdy: float) -> tuple[Floats, Floats, Floats, Floats]:
        """Lines in space (x + dxdy y, y, z + dzdy y) of strips: x, z (mm), dxdy, dzdy, shaped as `across`.

        Strips have u `across` (mm) at v = 0, and the slope du/dv `dxdy` in the element's own coordinates.
        """
        x, y, z = self.points(across, np.zeros_like(across))
        along = (self.axis_v + dxdy * self.axis_u).T
        slope_x, slope_z = along[0] / along[1], along[2] / along[1]
        return x - slope_x * y, z - slope_z * y, np.full_like(across, slope_x), np.full_like(across, slope_z)


@dataclass(frozen=True)
class Pieces(Frame):
    """The n pieces of one plane: their frames, with axes of length 1, numbers and sizes.

    v is along the strips. In VELO sensors, u is along the long edge.
    """

    numbers: Ints  # (n,), as LHCb counts them
    half_sizes: Floats  # (n, 2) along u and v, mm

    def frame(self, index: int | Ints) -> Frame:
        """Frame of one piece, or frames of several, (m,)."""
        return Frame(self.origin[index], self.axis_u[index], self.axis_v[index])

    def displaced_one(self, number: int, rotation: Floats, shift: Floats) -> "Pieces":
        """Rotate the piece of a number about its centre by a (3, 3) matrix, then shift it by (3,) mm."""
        own = (self.numbers == number)[:, None]
        return replace(
            self,
            origin=self.origin + np.where(own, shift, 0.0),
            axis_u=np.where(own, self.axis_u @ rotation.T, self.axis_u),
            axis_v=np.where(own, self.axis_v @ rotation.T, self.axis_v),
        )

    def corners(self) -> Floats:
        """(n, 4, 3) corners in mm; for strips, these are the ends of the first and the last strip."""
        u, v = self.half_sizes[:, :1] * self.axis_u, self.half_sizes[:, 1:] * self.axis_v
        return np.stack([self.origin + i * u + j * v for i, j in ((-1, -1), (1, -1), (1, 1), (-1, 1))], 1)

    @cached_property
    def _tree(self) -> tuple[Any, Floats]:
        from scipy.spatial import cKDTree  # takes half a second, and most commands do not need it

        scale = np.median(self.half_sizes, axis=0)
        return cKDTree(self.origin[:, :2] / scale), scale

    def at(self, x: Floats, y: Floats) -> Ints:
        """Index (m,) of the piece that contains a point (m,), mm, or else of the nearest one."""
        tree, scale = self._tree
        count = min(_NEAREST, len(self.numbers))
        _, near = tree.query(np.column_stack([x, y]) / scale, k=np.arange(1, count + 1))
        u, v = self.local(x[:, None], y[:, None], near)
        beyond = np.maximum(np.abs(u) - self.half_sizes[near, 0], np.abs(v) - self.half_sizes[near, 1])
        return np.asarray(np.take_along_axis(near, np.argmin(beyond, axis=1)[:, None], axis=1)[:, 0])

    def reached(self, index: Ints, states: tuple[Floats, ...]) -> tuple[Floats, Floats]:
        """Points x, y (m,), mm, where straight lines cross pieces.

        The states are five arrays (m,), x, y, z, tx, ty: a point in mm, close to the piece, and slopes.
        """
        x, y, z, tx, ty = states
        z0, dzdx, dzdy = self.plane[index].T
        way = (z0 + dzdx * x + dzdy * y - z) / (1.0 - dzdx * tx - dzdy * ty)
        return x + tx * way, y + ty * way
