"""Rigid motions: rotations and shifts, one after another."""

from dataclasses import dataclass
from functools import reduce
from typing import Self

import numpy as np
from numpy.typing import NDArray

from parkf.detector.alignment import Displacement

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Motion:
    """Takes a point to ``rotation @ point + offset``.

    Attributes
    ----------
    rotation : (3, 3) float64
    offset : (3,) float64
        mm.
    """

    rotation: Floats
    offset: Floats

    @classmethod
    def still(cls) -> Self:
        """Give the motion that moves nothing."""
        return cls(np.eye(3), np.zeros(3))

    @classmethod
    def of(cls, displacement: Displacement, centre: Floats) -> Self:
        """Motion of an element whose centre (3,) is there, mm."""
        rotation = displacement.rotation
        return cls(rotation, centre + displacement.shift - rotation @ centre)

    @classmethod
    def between(cls, before: Floats, after: Floats) -> Self:
        """Motion that takes points (n, 3) closest to others, by least squares (W. Kabsch, 1976)."""
        centre, moved = before.mean(axis=0), after.mean(axis=0)
        left, _, right = np.linalg.svd((after - moved).T @ (before - centre))
        mirror = np.diag([1.0, 1.0, np.sign(np.linalg.det(left @ right))])
        rotation = left @ mirror @ right
        return cls(rotation, moved - rotation @ centre)

    def __call__(self, points: Floats) -> Floats:
        """Move points (..., 3), mm."""
        return points @ self.rotation.T + self.offset

    def after(self, first: "Motion") -> "Motion":
        """Give the motion that makes `first` before this one."""
        return Motion(self.rotation @ first.rotation, self(first.offset))

    @property
    def inverse(self) -> "Motion":
        """The motion back."""
        return Motion(self.rotation.T, -self.rotation.T @ self.offset)

    def about(self, centre: Floats) -> Displacement:
        """Say it as the displacement of an element whose centre (3,) is there, mm."""
        return Displacement.of(self.rotation, self(centre) - centre)


def chained(motions: list[Motion]) -> Motion:
    """One motion for several; the last of the list is made first, as children move before their parents."""
    return reduce(Motion.after, motions, Motion.still())
