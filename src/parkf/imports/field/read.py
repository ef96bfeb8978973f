"""Reading of field maps: LHCb's formats, and lists of points, which are the nodes of a grid in any order.

Lists of points are ACTS's text (.txt, .xyz), CSV, and ROOT trees. Text has six numbers a row, x y z Bx By Bz;
lines that begin with % or # are comments. The branches of a tree have these names, and so have the columns of
CSV, possibly with units: ``x [cm]``, ``By [G]``.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.detector.field import ON_AXIS, STRONGEST, FieldMap
from parkf.imports.columns import FIELDS, LENGTHS, factor
from parkf.imports.field.lattice import Lattice, lattice_of_points, unfold
from parkf.imports.field.lhcb import read_allen, read_cdf
from parkf.io.checks import times
from parkf.io.errors import ParkfError, few
from parkf.io.files import existing, matching
from parkf.io.option_types import Interpolation, Outside
from parkf.io.root_files import open_tree, read_branches

_WITH_UNITS = (".cdf", ".bin")
FORMATS = (*_WITH_UNITS, ".txt", ".xyz", ".csv", ".root")
"""Endings of the files' names."""
_COLUMNS = ("x", "y", "z", "Bx", "By", "Bz")
_PEAK = 1.04  # T, on the axis


@dataclass(frozen=True)
class Declared:
    """Properties of a map that users declare, since its format does not contain them."""

    length: str | None = None  # a key of `parkf.imports.columns.LENGTHS`; None where the file has the unit
    field: str | None = None  # a key of `parkf.imports.columns.FIELDS`, likewise
    symmetry: str = "none"  # a key of `parkf.imports.field.lattice.SYMMETRIES`
    polarity: int = -1  # of the map: +1 MagUp, -1 MagDown
    tree: str | None = None  # name of the tree in a ROOT file


def read_field(
    source: str, declared: Declared, *, interpolation: Interpolation = "linear", outside: Outside = "error"
) -> FieldMap:
    """Read a map in a format of LHCb or ACTS, or as CSV, and convert it to MagDown.

    The source is a file, or a pattern for the four files of a ``.cdf`` map. A ParkfError is raised when a
    unit is not declared, or is declared although the format has it.
    """
    paths = matching(source)
    if paths[0].suffix not in FORMATS:
        raise ParkfError(f"{paths[0]}: unknown format, expected a name that ends in {', '.join(FORMATS)}")
    lattice = unfold(_lattice(paths, declared), declared.symmetry, str(paths[0]))
    if declared.polarity not in (-1, 1):
        raise ParkfError(f"{source}: polarity {declared.polarity!r}, expected +1 (MagUp) or -1 (MagDown)")
    _require_tesla(lattice, source)
    values = np.ascontiguousarray(-declared.polarity * lattice.values, dtype=np.float32)
    return FieldMap(lattice.origin, lattice.spacing, values, interpolation, outside)


def _require_tesla(lattice: Lattice, source: str) -> None:
    """Refuse an impossible field strength; the message has its ratio to LHCb's."""
    sizes = np.abs(lattice.values).max(axis=3)
    if sizes.max() <= STRONGEST:
        return
    middle = np.clip(np.rint(-lattice.origin / lattice.spacing), 0, np.array(lattice.values.shape[:3]) - 1)
    column = lattice.values[int(middle[0]), int(middle[1])]
    ratio = float(np.abs(column).max()) / _PEAK
    if ratio * _PEAK <= ON_AXIS[1]:
        strong = np.argwhere(sizes > STRONGEST)
        place = lattice.origin + lattice.spacing * strong[0]
        raise ParkfError(
            f"{source}: {len(strong)} of {sizes.size} nodes are above {STRONGEST:g} T, the first at"
            f" ({', '.join(f'{one:g}' for one in place)}) mm: {sizes[tuple(strong[0])]:.4g} T;"
            f" near the axis the field rises to {ratio * _PEAK:.4g} T, as expected: correct the nodes"
        )
    raise ParkfError(
        f"{source}: the field is {times(ratio)} too strong; the unit is another one than said (near the axis "
        f"it rises to {ratio * _PEAK:.4g} T, LHCb's to {_PEAK:g})"
    )


def _lattice(paths: Sequence[Path], declared: Declared) -> Lattice:
    path = paths[0]
    if path.suffix in _WITH_UNITS and (declared.length or declared.field):
        raise ParkfError(f"{path}: this format has units of its own; say none")
    if path.suffix == ".cdf":
        return read_cdf(paths)
    if len(paths) > 1:
        raise ParkfError(f"{len(paths)} files, {path} first, expected one")
    if path.suffix == ".bin":
        return read_allen(path)
    in_file: Mapping[str, str | None] = {}
    if path.suffix == ".csv":
        rows, in_file = _read_csv(path)
    elif path.suffix == ".root":
        with open_tree(path, declared.tree) as opened:
            arrays = read_branches(opened, _COLUMNS, path)
        rows = np.column_stack([arrays[name] for name in _COLUMNS])
    else:
        rows = _read_text(path)
    if not len(rows):
        raise ParkfError(f"{path}: no row of numbers")
    factors = []
    for name in _COLUMNS:
        asked, units = (declared.length, LENGTHS) if name in "xyz" else (declared.field, FIELDS)
        unit = in_file.get(name)
        if unit is not None and asked is not None and unit != asked:
            raise ParkfError(f"{path}: column '{name}' says [{unit}], and it was declared to be {asked}")
        factors.append(factor(unit or asked, units, f"{path}: column '{name}'"))
    rows = rows * factors
    return lattice_of_points(rows[:, :3], rows[:, 3:], str(path))


def _read_text(path: Path) -> NDArray[np.float64]:
    rows = []
    with existing(path).open(errors="replace") as file:
        for number, line in enumerate(file, start=1):
            words = line.split()
            if not words or words[0][0] in "%#":
                continue
            try:
                row = [float(word) for word in words]
            except ValueError as error:
                raise ParkfError(f"{path}: line {number}: {error}") from error
            if len(row) != len(_COLUMNS):
                raise ParkfError(f"{path}: line {number}: {len(row)} numbers, expected x y z Bx By Bz")
            rows.append(row)
    return np.array(rows)


def _read_csv(path: Path) -> tuple[NDArray[Any], dict[str, str | None]]:
    """Rows of `_COLUMNS`, and the units in the header."""
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
    rows = numbers[:, [found[name][0] for name in _COLUMNS]] if len(numbers) else numbers
    return rows, {name: found[name][1] for name in _COLUMNS}
