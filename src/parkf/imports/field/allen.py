"""Allen's dump of the field, ``magfield.bin``, little-endian.

Four float32 of 1/spacing, four int32 of node counts, four float32 of the first node, then for every node, x
fastest, four float32 Bx, By, Bz and one that pads. Lengths are in mm, the field in Gaudi's unit, in which one
tesla is 0.001.
"""

from pathlib import Path

import numpy as np

from parkf.imports.field.lattice import Lattice
from parkf.imports.units import FIELDS
from parkf.io.errors import ParkfError
from parkf.io.files import existing

_HEADER = 48
_NODE = 16
_MOST_NODES = 1 << 30


def read_allen(path: Path) -> Lattice:
    """Read the dump.

    Raises
    ------
    ParkfError
        When its length is not what its header asks for, or the header is no grid's.
    """
    content = existing(path).read_bytes()
    if len(content) < _HEADER:
        raise ParkfError(f"{path}: {len(content)} bytes, expected a header of {_HEADER}")
    inverse = np.frombuffer(content, "<f4", 3, 0).astype(np.float64)
    counts = np.frombuffer(content, "<i4", 3, 16).astype(np.int64)
    origin = np.frombuffer(content, "<f4", 3, 32).astype(np.float64)
    if not (np.isfinite(inverse).all() and (inverse > 0).all() and np.isfinite(origin).all()):
        raise ParkfError(
            f"{path}: 1/spacing {inverse.tolist()}, first node {origin.tolist()}: not Allen's magfield.bin"
        )
    if (counts < 2).any() or float(np.prod(counts.astype(float))) > _MOST_NODES:
        raise ParkfError(f"{path}: {counts.tolist()} nodes: not Allen's magfield.bin")
    expected = _HEADER + _NODE * int(counts.prod())
    if len(content) != expected:
        raise ParkfError(
            f"{path}: {len(content)} bytes, expected {expected} for {' x '.join(map(str, counts))} nodes"
        )
    nodes = np.frombuffer(content, "<f4", offset=_HEADER).reshape(*counts[::-1], 4)[..., :3]
    if not np.isfinite(nodes).all():
        raise ParkfError(f"{path}: node {int(np.argmax(~np.isfinite(nodes).all(-1).ravel()))} is not finite")
    values = FIELDS["Gaudi"] * nodes.astype(np.float64).transpose(2, 1, 0, 3)
    # 1/spacing is a float32 of seven digits, so the spacing is rounded.
    spacing = np.array([float(f"{1 / number:.6g}") for number in inverse])
    return Lattice(origin, spacing, values)
