"""Pieces of planes at their real positions: VELO sensors, UT sectors, SciFi mats."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.detector.frame import Frame

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_NEAREST = 8  # centres to search for the piece that contains a point, as pieces differ in size


@dataclass(frozen=True)
class Pieces:
    """The pieces of one plane, with coordinates (u, v) of their own.

    v is along the strips; of VELO sensors u is along the long edge.
    """

    numbers: Ints  # (n,), as LHCb counts them
    origin: Floats  # (n, 3) centres, mm
    axis_u: Floats  # (n, 3), of length 1
    axis_v: Floats  # (n, 3), of length 1
    half_sizes: Floats  # (n, 2) along u and v, mm

    def frame(self, index: int | Ints) -> Frame:
        """Frame of one piece, or frames of several, (m,)."""
        return Frame(self.origin[index], self.axis_u[index], self.axis_v[index])

    def with_frame(self, index: int, frame: Frame) -> "Pieces":
        """Return the same pieces with one of them at another position."""
        axes = {name: getattr(self, name).copy() for name in ("origin", "axis_u", "axis_v")}
        for name, values in axes.items():
            values[index] = getattr(frame, name)
        return replace(self, **axes)

    def displaced(self, rotation: Floats, shift: Floats, centre: Floats) -> "Pieces":
        """Rotate all about `centre` by a (3, 3) matrix, then shift them by (3,) mm."""
        return replace(
            self,
            origin=centre + (self.origin - centre) @ rotation.T + shift,
            axis_u=self.axis_u @ rotation.T,
            axis_v=self.axis_v @ rotation.T,
        )

    def corners(self) -> Floats:
        """(n, 4, 3) corners in mm, of strips the ends of the first and of the last one."""
        u, v = self.half_sizes[:, :1] * self.axis_u, self.half_sizes[:, 1:] * self.axis_v
        return np.stack([self.origin + i * u + j * v for i, j in ((-1, -1), (1, -1), (1, 1), (-1, 1))], 1)

    @cached_property
    def _inverse(self) -> Floats:
        """(n, 2, 2) matrices from (x, y) - origin to (u, v)."""
        return np.asarray(np.linalg.inv(np.stack([self.axis_u[:, :2], self.axis_v[:, :2]], axis=-1)))

    @cached_property
    def _planes(self) -> Floats:
        """(n, 3) rows (z0, dzdx, dzdy)."""
        slopes = np.einsum("nj,njk->nk", np.stack([self.axis_u[:, 2], self.axis_v[:, 2]], -1), self._inverse)
        return np.column_stack([self.origin[:, 2] - np.sum(slopes * self.origin[:, :2], axis=1), slopes])

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
        u, v = self.local(near, x[:, None], y[:, None])
        beyond = np.maximum(np.abs(u) - self.half_sizes[near, 0], np.abs(v) - self.half_sizes[near, 1])
        return np.asarray(np.take_along_axis(near, np.argmin(beyond, axis=1)[:, None], axis=1)[:, 0])

    def local(self, index: Ints, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        """(u, v) of points on pieces, all of the shape of `index`, mm."""
        m = self._inverse[index]
        dx, dy = x - self.origin[index, 0], y - self.origin[index, 1]
        return m[..., 0, 0] * dx + m[..., 0, 1] * dy, m[..., 1, 0] * dx + m[..., 1, 1] * dy

    def reached(self, index: Ints, states: tuple[Floats, ...]) -> tuple[Floats, Floats]:
        """Points x, y (m,), mm, where straight lines cross pieces.

        The states are five arrays (m,), x, y, z, tx, ty: a point in mm, close to the piece, and slopes.
        """
        x, y, z, tx, ty = states
        z0, dzdx, dzdy = self._planes[index].T
        way = (z0 + dzdx * x + dzdy * y - z) / (1.0 - dzdx * tx - dzdy * ty)
        return x + tx * way, y + ty * way
