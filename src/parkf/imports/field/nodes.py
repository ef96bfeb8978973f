"""Single wrong nodes of a field map: no field has a value that its neighbours on all three axes contradict.

A cubic through two neighbours on each side predicts a node along an axis. The field's own structure, such as
the edge of a pole, misleads the prediction along one axis or two, and at the nodes beside as well. A wrong
value is off the same amount along all three, and alone.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parkf.detector.field import FieldMap

_LEAST = 1e-3  # T; a node that is less off bends no track noticeably
_ALONE = 4.0  # times what any but two of the nodes around it are off
_STRONG = 3.0  # times the field of all but two of them
_AROUND = 2  # nodes on each side
_SUSPECTS = 5000
_ROUNDS = 5


@dataclass(frozen=True)
class WrongNode:
    """A node that does not belong to the field around it."""

    index: tuple[int, int, int]
    place: NDArray[np.float64]  # (3,), mm
    found: NDArray[np.float64]  # (3,), T
    expected: NDArray[np.float64]  # (3,), T, by its neighbours


def wrong_nodes(field: FieldMap, passed: NDArray[np.bool_]) -> tuple[list[WrongNode], NDArray[np.float32]]:
    """Return wrong nodes, the one that is most off first, and the map's values without them.

    `passed` (nx, ny, nz) says which nodes tracks pass. Elsewhere maps have edges of poles, or zeros where
    nobody measured, and only a node that is several times as strong as all around it is wrong. Nodes that are
    corrected no longer hide others, so several rounds are made. Maps with fewer than five nodes an axis are
    not judged.
    """
    values = field.values.astype(np.float64)
    found: dict[tuple[int, int, int], WrongNode] = {}
    for _ in range(_ROUNDS if min(values.shape[:3]) > 2 * _AROUND else 0):
        off = _off(values)
        wrong = _alone(np.abs(off).max(axis=3), np.abs(values).max(axis=3), passed)
        for node in map(tuple, wrong.tolist()):
            place = field.origin + field.spacing * np.array(node)
            before = found[node].found if node in found else values[node].copy()
            values[node] -= off[node]
            found[node] = WrongNode(node, place, before, values[node].copy())
        if not len(wrong):
            break
    ordered = sorted(found.values(), key=lambda one: -float(np.abs(one.found - one.expected).max()))
    return ordered, values.astype(np.float32)


def _off(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return by how much each component (nx, ny, nz, 3) is off in T; 0 where the axes disagree."""
    low, high = np.full(values.shape, np.inf), np.full(values.shape, -np.inf)
    for axis in range(3):
        along = np.moveaxis(values, axis, 0)
        off = np.empty_like(along)
        fourth = along[:-4] - 4 * along[1:-3] + 6 * along[2:-2] - 4 * along[3:-1] + along[4:]
        off[2:-2] = fourth / 6
        # At the ends, the four next nodes predict; the second one has one neighbour on its other side.
        off[0], off[-1] = fourth[0], fourth[-1]
        off[1], off[-2] = -fourth[0] / 4, -fourth[-1] / 4
        off = np.moveaxis(off, 0, axis)
        np.minimum(low, off, out=low)
        np.maximum(high, off, out=high)
    return np.where(low > 0, low, np.where(high < 0, high, 0.0))


def _alone(
    off: NDArray[np.float64], size: NDArray[np.float64], passed: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return the indices (m, 3) of nodes that are far more off than those around them, (nx, ny, nz) in T."""
    suspects = np.argwhere(off > _LEAST)
    if not len(suspects):
        return suspects
    suspects = suspects[np.argsort(-off[tuple(suspects.T)])[:_SUSPECTS]]
    here = tuple(suspects.T)
    # The node itself is the largest; up to two others around it may be wrong, too.
    alone = off[here] > _ALONE * _fourth(off, suspects)
    strong = off[here] > _STRONG * _fourth(size, suspects)
    return suspects[np.where(passed[here], alone, strong)]


def _fourth(values: NDArray[np.float64], nodes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the fourth largest value (m,) in the cubes around nodes (m, 3)."""
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(values, _AROUND), (2 * _AROUND + 1,) * 3)
    cubes = windows[tuple(nodes.T)].reshape(len(nodes), -1)
    return np.asarray(np.partition(cubes, -4, axis=1)[:, -4])
