"""A field on a uniform grid, from points in any order, and from a part of it by symmetry."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parkf.detector.field import DIPOLE_X, DIPOLE_Y
from parkf.io.errors import ParkfError

_SAME = (1.0, 1.0, 1.0)
# Symmetries by which a part of a map determines the whole: the axes to mirror, and the signs of the field
# there. none: the map is whole. octant: x, y, z >= 0, unfolded as in ACTS, with the same field at |x|, |y|,
# |z|. quadrant: x, y >= 0 of a dipole.
SYMMETRIES = {
    "none": (),
    "octant": ((0, _SAME), (1, _SAME), (2, _SAME)),
    "quadrant": ((0, DIPOLE_X), (1, DIPOLE_Y)),
}
_UNEVEN = 1e-3  # of a spacing; largest deviation of a node from the grid, from rounding in text and float32


@dataclass(frozen=True)
class Lattice:
    """A field on a uniform grid: origin and spacing (3,) in mm, values (nx, ny, nz, 3) in T."""

    origin: NDArray[np.float64]
    spacing: NDArray[np.float64]
    values: NDArray[np.float64]


def lattice_of_points(points: NDArray[np.float64], field: NDArray[np.float64], name: str) -> Lattice:
    """Find the grid of points (n, 3) in mm, in any order, with the field (n, 3) in T of the file `name`.

    Raises
    ------
    ParkfError
        When a number is not finite, the points are no uniform grid, or a node is missing or there twice.
    """
    bad = ~np.isfinite(np.column_stack([points, field])).all(axis=1)
    if bad.any():
        raise ParkfError(f"{name}: row {int(np.argmax(bad))}: not a finite number")
    origin, spacing, index, counts = np.empty(3), np.empty(3), [], []
    for axis, letter in enumerate("xyz"):
        nodes = _distinct(points[:, axis])
        if len(nodes) < 2:
            raise ParkfError(f"{name}: one {letter} alone, {nodes[0]:g} mm, expected a grid")
        origin[axis], spacing[axis] = nodes[0], (nodes[-1] - nodes[0]) / (len(nodes) - 1)
        position = (points[:, axis] - origin[axis]) / spacing[axis]
        nearest = np.rint(position)
        off = np.abs(position - nearest) > _UNEVEN
        if off.any():
            row = int(np.argmax(off))
            raise ParkfError(
                f"{name}: row {row}: {letter} = {points[row, axis]:g} mm is no node of a uniform grid from "
                f"{nodes[0]:g} to {nodes[-1]:g} mm by {spacing[axis]:g}"
            )
        index.append(nearest.astype(np.int64))
        counts.append(len(nodes))
    node = np.ravel_multi_index((index[0], index[1], index[2]), (counts[0], counts[1], counts[2]))
    times = np.bincount(node, minlength=int(np.prod(counts)))
    if (times != 1).any():
        wrong = int(np.argmax(times != 1))
        where = origin + spacing * np.array(np.unravel_index(wrong, tuple(counts)))
        raise ParkfError(
            f"{name}: {len(points)} rows for a grid of {' x '.join(map(str, counts))} nodes; the one at "
            f"{where.tolist()} mm is there {times[wrong]} times, expected once"
        )
    values = np.empty((int(np.prod(counts)), 3))
    values[node] = field
    return Lattice(origin, spacing, values.reshape(*counts, 3))


def unfold(lattice: Lattice, symmetry: str, name: str) -> Lattice:
    """Build the whole map from an octant or a quadrant.

    Raises
    ------
    ParkfError
        When there is no such symmetry, or the part does not begin at 0 on an axis that is mirrored.
    """
    if symmetry not in SYMMETRIES:
        raise ParkfError(f"{name}: symmetry '{symmetry}', expected one of {', '.join(SYMMETRIES)}")
    for axis, signs in SYMMETRIES[symmetry]:
        lattice = _mirrored(lattice, axis, signs, name)
    return lattice


def _mirrored(lattice: Lattice, axis: int, signs: tuple[float, float, float], name: str) -> Lattice:
    if abs(lattice.origin[axis]) > _UNEVEN * lattice.spacing[axis]:
        raise ParkfError(
            f"{name}: {'xyz'[axis]} begins at {lattice.origin[axis]:g} mm, expected 0 of a mirrored part"
        )
    values = np.moveaxis(lattice.values, axis, 0)
    whole = np.concatenate([values[:0:-1] * signs, values])
    origin = lattice.origin.copy()
    origin[axis] = -lattice.spacing[axis] * (len(values) - 1)
    return Lattice(origin, lattice.spacing, np.moveaxis(whole, 0, axis))


def _distinct(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sorted numbers, without those that differ from another by rounding only."""
    found = np.unique(numbers)
    # Differences by rounding are far smaller than the smallest spacing of a grid.
    apart = np.diff(found, prepend=-np.inf) > 1e-6 * max(1.0, float(np.abs(found).max()))
    return np.asarray(found[apart])
