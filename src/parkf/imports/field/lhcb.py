"""LHCb's formats of the field: four files of text, and Allen's dump.

Text: ``….c1.….cdf`` to ``….c4.….cdf``, one file for each quadrant of x and y. Lines before ``GEOMETRY:`` are
comments; after this word follow dx dy dz nx ny nz z_offset (cm), then nx·ny·nz rows Bx By Bz in Gauss, x
fastest. Every file counts |x| and |y| from 0, as if it were the first quadrant (x, y > 0). Bx is negated in
the second quadrant (x < 0), Bz in the third (both below 0), and Bx and Bz in the fourth (y < 0).

Dump: ``magfield.bin``, little-endian. Four float32 of 1/spacing, four int32 of node counts, four float32 of
the first node, then for every node, x fastest, four float32 Bx, By, Bz and padding. Lengths are in mm, the
field in Gaudi's unit, in which one tesla is 0.001.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from parkf.imports.columns import FIELDS, LENGTHS
from parkf.io.checks import finite, require
from parkf.io.errors import ParkfError
from parkf.io.files import existing

Floats = NDArray[np.float64]
Grid = tuple[Floats, Floats, Floats]
"""Origin and spacing (3,) in mm, and the field (nx, ny, nz, 3) in T."""

_TURNED = {1: (1.0, 1.0, 1.0), 2: (-1.0, 1.0, 1.0), 3: (1.0, 1.0, -1.0), 4: (-1.0, 1.0, -1.0)}
_CDF_HEADER = 7  # numbers
_DUMP_HEADER, _DUMP_NODE = 48, 16  # bytes


def read_cdf(paths: Sequence[Path]) -> Grid:
    """Read the four quadrants, which must have the same grid."""
    parts: dict[int, tuple[Floats, Floats]] = {}
    for path in paths:
        quadrant = re.search(r"(?:^|[._-])c([1-4])(?=[._-])", path.name)
        if quadrant is None:
            raise ParkfError(f"{path}: its name says no quadrant, expected .c1. to .c4. in it")
        number = int(quadrant[1])
        if number in parts:
            raise ParkfError(f"{path}: quadrant {number} is there twice")
        parts[number] = _quadrant(path)
    if missing := [str(number) for number in _TURNED if number not in parts]:
        raise ParkfError(f"{paths[0].parent}: quadrant {' and '.join(missing)} of the map is missing")
    header, _ = parts[1]
    for number, (other, _) in parts.items():
        if not np.array_equal(header, other):
            grids = f"quadrant {number} has grid {other.tolist()}, the first {header.tolist()}"
            raise ParkfError(f"{paths[0].parent}: {grids}")
    nx, ny, nz = (int(count) for count in header[3:6])
    values = np.empty((2 * nx - 1, 2 * ny - 1, nz, 3))
    # The first quadrant comes last, so that its values are used where quadrants meet.
    for number in (4, 3, 2, 1):
        columns = slice(nx - 1, None, 1 if number in (1, 4) else -1)
        rows = slice(ny - 1, None, 1 if number in (1, 2) else -1)
        values[columns, rows] = parts[number][1] * _TURNED[number]
    spacing = LENGTHS["cm"] * header[:3]
    origin = np.array([-spacing[0] * (nx - 1), -spacing[1] * (ny - 1), LENGTHS["cm"] * header[6]])
    return origin, spacing, FIELDS["G"] * values


def _quadrant(path: Path) -> tuple[Floats, Floats]:
    """Header (7,) as in the file, and field (nx, ny, nz, 3) in Gauss."""
    text = existing(path).read_text(errors="replace")
    start = re.search(r"^GEOMETRY:", text, re.M)
    if start is None:
        raise ParkfError(f"{path}: no line begins with GEOMETRY:; not a quadrant of a field map")
    try:
        numbers = np.array(text[start.end() :].split(), dtype=np.float64)
    except ValueError as error:
        raise ParkfError(f"{path}: behind GEOMETRY: {error}") from error
    header, field = numbers[:_CDF_HEADER], numbers[_CDF_HEADER:]
    counts = header[3:6]
    if len(header) < _CDF_HEADER or not np.isfinite(header).all() or (counts != np.rint(counts)).any():
        raise ParkfError(f"{path}: GEOMETRY: {header.tolist()}, expected dx dy dz nx ny nz z_offset")
    if (counts < 2).any() or (header[:3] <= 0).any():
        expected = "expected positive spacings and two nodes an axis"
        raise ParkfError(f"{path}: GEOMETRY: {header.tolist()}, {expected}")
    nx, ny, nz = (int(count) for count in counts)
    if len(field) != 3 * nx * ny * nz:
        raise ParkfError(
            f"{path}: {len(field)} numbers behind the header, expected 3 x {nx} x {ny} x {nz} = "
            f"{3 * nx * ny * nz}; the file is cut off or of another grid"
        )
    return header, field.reshape(nz, ny, nx, 3).transpose(2, 1, 0, 3)


def read_allen(path: Path) -> Grid:
    """Read the dump; a header that describes no grid, or contradicts its length, raises a ParkfError."""
    content = existing(path).read_bytes()
    if len(content) < _DUMP_HEADER:
        raise ParkfError(f"{path}: {len(content)} bytes, expected a header of {_DUMP_HEADER}")
    inverse = np.frombuffer(content, "<f4", 3, 0).astype(np.float64)
    counts = np.frombuffer(content, "<i4", 3, 16).astype(np.int64)
    origin = np.frombuffer(content, "<f4", 3, 32).astype(np.float64)
    if not (np.isfinite(inverse).all() and (inverse > 0).all() and np.isfinite(origin).all()):
        found = f"1/spacing {inverse.tolist()}, first node {origin.tolist()}"
        raise ParkfError(f"{path}: {found}: not Allen's magfield.bin")
    if (counts < 2).any() or float(np.prod(counts.astype(float))) > 1 << 30:
        raise ParkfError(f"{path}: {counts.tolist()} nodes: not Allen's magfield.bin")
    expected = _DUMP_HEADER + _DUMP_NODE * int(counts.prod())
    if len(content) != expected:
        grid = " x ".join(map(str, counts))
        raise ParkfError(f"{path}: {len(content)} bytes, expected {expected} for {grid} nodes")
    nodes = np.frombuffer(content, "<f4", offset=_DUMP_HEADER).reshape(*counts[::-1], 4)[..., :3]
    components = ("Bx", "By", "Bz")
    require(path, dict(zip(components, nodes.reshape(-1, 3).T, strict=True)), *finite(*components))
    values = FIELDS["Gaudi"] * nodes.astype(np.float64).transpose(2, 1, 0, 3)
    # 1/spacing is a float32 of seven digits, so the spacing is rounded.
    spacing = np.array([float(f"{1 / number:.6g}") for number in inverse])
    return origin, spacing, values
