"""A flat element in space: its origin and two axes."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Frame:
    """Points are ``origin + u axis_u + v axis_v``; the axes need be neither unit nor orthogonal.

    All are (3,) float64 in mm, in the detector's (x, y, z); or (m, 3), for :meth:`points` and :meth:`lines`
    of one point on each of m elements.
    """

    origin: Floats
    axis_u: Floats
    axis_v: Floats

    @classmethod
    def upright(cls, z: float, dzdy: float = 0.0) -> Self:
        """Frame in which u = x and v = y, at z + dzdy y."""
        return cls(np.array([0.0, 0.0, z]), np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, dzdy]))

    def displaced(self, rotation: Floats, shift: Floats, centre: Floats) -> "Frame":
        """Rotate about `centre` by a (3, 3) matrix, then shift by (3,) mm."""
        return Frame(
            centre + rotation @ (self.origin - centre) + shift, rotation @ self.axis_u, rotation @ self.axis_v
        )

    @property
    def to_local(self) -> Floats:
        """(2, 2) matrix that takes (x, y) - origin, for a point on the plane, to (u, v)."""
        return np.linalg.inv(np.column_stack([self.axis_u[:2], self.axis_v[:2]]))

    @property
    def plane(self) -> Floats:
        """(z0, dzdx, dzdy) of the plane, as (3,) float64."""
        slopes = np.array([self.axis_u[2], self.axis_v[2]]) @ self.to_local
        return np.array([self.origin[2] - slopes @ self.origin[:2], *slopes])

    def local(self, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        """(u, v) of points on the plane with these x and y, any shape, mm."""
        m = self.to_local
        dx, dy = x - self.origin[0], y - self.origin[1]
        return m[0, 0] * dx + m[0, 1] * dy, m[1, 0] * dx + m[1, 1] * dy

    def points(self, u: Floats, v: Floats) -> tuple[Floats, Floats, Floats]:
        """(x, y, z) of local points, any shape, mm."""
        axes = (self.origin, self.axis_u, self.axis_v)
        x, y, z = (origin + u * a + v * b for origin, a, b in zip(*(axis.T for axis in axes), strict=True))
        return x, y, z

    def lines(self, across: Floats, dxdy: float) -> tuple[Floats, Floats, Floats, Floats]:
        """Lines in space (x + dxdy y, y, z + dzdy y), mm, of strips: x, z, dxdy and dzdy like `across`.

        Strips have u `across` (mm) at v = 0, and the slope du/dv `dxdy` in the element's own coordinates.
        """
        x, y, z = self.points(across, np.zeros_like(across))
        along = (self.axis_v + dxdy * self.axis_u).T
        slope_x, slope_z = along[0] / along[1], along[2] / along[1]
        return x - slope_x * y, z - slope_z * y, np.full_like(across, slope_x), np.full_like(across, slope_z)
