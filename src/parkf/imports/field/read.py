"""Reading of field maps: LHCb's formats, and CSV with the nodes of a grid in any order.

The columns of CSV are x, y, z, Bx, By and Bz, possibly with units: ``x [cm]``, ``By [G]``.
"""

import re
from pathlib import Path

import numpy as np

from parkf.detector.field import FieldMap
from parkf.imports.columns import FIELDS, LENGTHS, factor
from parkf.imports.field.lhcb import Floats, Grid, read_allen, read_cdf
from parkf.io.checks import finite, require
from parkf.io.errors import ParkfError, few
from parkf.io.files import existing, matching
from parkf.io.option_types import Interpolation, Outside

_COLUMNS = ("x", "y", "z", "Bx", "By", "Bz")
_UNEVEN = 1e-3  # of a spacing; largest deviation of a node from the grid, from rounding in text and float32


def read_field(
    source: str,
    *,
    length: str | None = None,
    unit: str | None = None,
    polarity: int = -1,
    interpolation: Interpolation = "linear",
    outside: Outside = "error",
) -> FieldMap:
    """Read a map in a format of LHCb, or as CSV, and convert it to MagDown.

    The source is a file, or a pattern for the four files of a ``.cdf`` map; its polarity is +1 of MagUp, -1
    of MagDown. The units of CSV, `length` of :data:`parkf.imports.columns.LENGTHS` and `unit` of ``FIELDS``,
    stand in its header or are given. A ParkfError is raised when a unit is not, or is given although the
    format has it.
    """
    paths = matching(source)
    path, ending = paths[0], paths[0].suffix
    if ending not in (".cdf", ".bin", ".csv"):
        raise ParkfError(f"{path}: unknown format, expected a name that ends in .cdf, .bin or .csv")
    if ending != ".csv" and (length or unit):
        raise ParkfError(f"{path}: this format has units of its own; say none")
    if ending != ".cdf" and len(paths) > 1:
        raise ParkfError(f"{len(paths)} files, {path} first, expected one")
    if ending == ".csv":
        origin, spacing, values = _read_csv(path, length, unit)
    else:
        origin, spacing, values = read_cdf(paths) if ending == ".cdf" else read_allen(path)
    down = np.ascontiguousarray(-polarity * values, dtype=np.float32)
    try:
        return FieldMap(origin, spacing, down, interpolation, outside)
    except ParkfError as error:
        raise ParkfError(f"{source}: {error}") from error


def _read_csv(path: Path, length: str | None, unit: str | None) -> Grid:
    with existing(path).open(errors="replace") as file:
        header = [name.strip() for name in file.readline().split(",")]
        parts = [re.fullmatch(r"(\w+)\s*(?:\[(.+)\])?", name) for name in header]
        found = {part[1]: (index, part[2]) for index, part in enumerate(parts) if part is not None}
        if missing := [name for name in _COLUMNS if name not in found]:
            raise ParkfError(
                f"{path}: column '{missing[0]}' is missing; it has {few(header)},"
                f" expected {', '.join(_COLUMNS)}: correct the header"
            )
        try:
            numbers = np.loadtxt(file, delimiter=",", ndmin=2, usecols=range(len(header)))
        except ValueError as error:
            raise ParkfError(f"{path}: {error}; expected numbers: correct the row") from error
    if not len(numbers):
        raise ParkfError(f"{path}: no row of numbers")
    columns = []
    for name in _COLUMNS:
        asked, units = (length, LENGTHS) if name in "xyz" else (unit, FIELDS)
        index, said = found[name]
        if said is not None and asked is not None and said != asked:
            raise ParkfError(f"{path}: column '{name}' says [{said}], and it was declared to be {asked}")
        columns.append(numbers[:, index] * factor(said or asked, units, f"{path}: column '{name}'"))
    return make_grid(np.column_stack(columns[:3]), np.column_stack(columns[3:]), str(path))


def make_grid(points: Floats, field: Floats, name: str) -> Grid:
    """Make a uniform grid from a file's points (n, 3), mm, in any order, and the field (n, 3), T, there."""
    require(name, dict(zip(_COLUMNS, (*points.T, *field.T), strict=True)), *finite(*_COLUMNS))
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
    return origin, spacing, values.reshape(*counts, 3)
