"""A field on a uniform grid, made from points in any order."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parkf.io.checks import finite, require
from parkf.io.errors import ParkfError

_UNEVEN = 1e-3  # of a spacing; largest deviation of a node from the grid, from rounding in text and float32


@dataclass(frozen=True)
class Lattice:
    """A field on a uniform grid: origin and spacing (3,) in mm, values (nx, ny, nz, 3) in T."""

    origin: NDArray[np.float64]
    spacing: NDArray[np.float64]
    values: NDArray[np.float64]


def lattice_of_points(points: NDArray[np.float64], field: NDArray[np.float64], name: str) -> Lattice:
    """Make a uniform grid from a file's points (n, 3), mm, in any order, and the field (n, 3), T, there."""
    columns = ("x", "y", "z", "Bx", "By", "Bz")
    require(name, dict(zip(columns, (*points.T, *field.T), strict=True)), *finite(*columns))
    origin, spacing, counts = np.empty(3), np.empty(3), [0, 0, 0]
    index = np.empty((3, len(points)), np.int64)
    for axis, letter in enumerate("xyz"):
        nodes = np.unique(points[:, axis])
        # Coordinates that differ only by rounding belong to one node; nodes of a grid are much further apart.
        nodes = nodes[np.diff(nodes, prepend=-np.inf) > 1e-6 * max(1.0, float(np.abs(nodes).max()))]
        if len(nodes) < 2:
            raise ParkfError(f"{name}: one {letter} alone, {nodes[0]:g} mm, expected a grid")
        counts[axis] = len(nodes)
        origin[axis], spacing[axis] = nodes[0], (nodes[-1] - nodes[0]) / (len(nodes) - 1)
        position = (points[:, axis] - origin[axis]) / spacing[axis]
        index[axis] = np.rint(position)
        off = np.abs(position - index[axis]) > _UNEVEN
        if off.any():
            row = int(np.argmax(off))
            raise ParkfError(
                f"{name}: row {row}: {letter} = {points[row, axis]:g} mm is no node of a uniform grid from "
                f"{nodes[0]:g} to {nodes[-1]:g} mm by {spacing[axis]:g}"
            )
    node = np.ravel_multi_index(tuple(index), tuple(counts))
    times = np.bincount(node, minlength=int(np.prod(counts)))
    if (times != 1).any():
        wrong = int(np.argmax(times != 1))
        where = origin + spacing * np.array(np.unravel_index(wrong, tuple(counts)))
        raise ParkfError(
            f"{name}: {len(points)} rows for a grid of {' x '.join(map(str, counts))} nodes; the one at "
            f"{where.tolist()} mm is there {times[wrong]} times, expected once"
        )
    values = np.empty((len(times), 3))
    values[node] = field
    return Lattice(origin, spacing, values.reshape(*counts, 3))
