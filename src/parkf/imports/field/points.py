"""Fields as lists of points: ACTS's text and ROOT tree, and CSV; nodes of a grid in any order.

Text has six numbers a row, x y z Bx By Bz; lines that begin with % or # are comments. A ROOT tree has
branches of these names. CSV has columns of these names, possibly with their units: ``x [cm]``, ``By [G]``.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from parkf.imports.field.lattice import Lattice, lattice_of_points
from parkf.imports.root_files import open_tree, read_branches
from parkf.imports.units import FIELDS, LENGTHS, factor
from parkf.io.errors import ParkfError
from parkf.io.files import existing

COLUMNS = ("x", "y", "z", "Bx", "By", "Bz")


@dataclass(frozen=True)
class Declared:
    """Properties of a map that users declare, since its format does not contain them.

    Attributes
    ----------
    length, field : str or None
        Units: keys of `parkf.imports.units.LENGTHS` and `FIELDS`. None where the format has them.
    symmetry : str
        A key of `parkf.imports.field.lattice.SYMMETRIES`.
    polarity : int
        Polarity of the map: +1 MagUp, -1 MagDown.
    tree : str or None
        Name of the tree in a ROOT file.
    """

    length: str | None = None
    field: str | None = None
    symmetry: str = "none"
    polarity: int = -1
    tree: str | None = None


def read_text(path: Path, declared: Declared) -> Lattice:
    """Read rows of six numbers, separated by blanks; the units must be declared.

    Raises
    ------
    ParkfError
        When a unit is not declared, or rows are not six numbers each.
    """
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
            if len(row) != len(COLUMNS):
                raise ParkfError(f"{path}: line {number}: {len(row)} numbers, expected x y z Bx By Bz")
            rows.append(row)
    return _lattice(np.array(rows), path, {}, declared)


def read_csv(path: Path, declared: Declared) -> Lattice:
    """Read a CSV file whose first line names x, y, z, Bx, By, Bz; errors as of `read_text`."""
    with existing(path).open(errors="replace") as file:
        header = [name.strip() for name in file.readline().split(",")]
        named = {}
        for index, name in enumerate(header):
            parts = re.fullmatch(r"(\w+)\s*(?:\[(.+)\])?", name)
            if parts is not None and parts[1] in COLUMNS:
                named[parts[1]] = (index, parts[2])
        if missing := [name for name in COLUMNS if name not in named]:
            raise ParkfError(f"{path}: column '{missing[0]}' is missing; it has {', '.join(header)}")
        try:
            numbers = np.loadtxt(file, delimiter=",", ndmin=2)
        except ValueError as error:
            raise ParkfError(f"{path}: {error}") from error
    rows = numbers[:, [named[name][0] for name in COLUMNS]] if len(numbers) else numbers
    return _lattice(rows, path, {name: unit for name, (_, unit) in named.items()}, declared)


def read_root(path: Path, declared: Declared) -> Lattice:
    """Read a tree with branches x, y, z, Bx, By, Bz; errors as of `read_text`."""
    with open_tree(path, declared.tree) as opened:
        arrays = read_branches(opened, COLUMNS, path)
    return _lattice(np.column_stack([arrays[name] for name in COLUMNS]), path, {}, declared)


def _lattice(
    rows: NDArray[np.float64], path: Path, in_file: dict[str, str | None], declared: Declared
) -> Lattice:
    """Convert rows of `COLUMNS`; `in_file` are the units that the file has."""
    if not len(rows):
        raise ParkfError(f"{path}: no row of numbers")
    factors = []
    for name in COLUMNS:
        asked, units = (declared.length, LENGTHS) if name in "xyz" else (declared.field, FIELDS)
        unit = in_file.get(name)
        if unit is not None and asked is not None and unit != asked:
            raise ParkfError(f"{path}: column '{name}' says [{unit}], and it was declared to be {asked}")
        factors.append(factor(unit or asked, units, f"{path}: column '{name}'"))
    rows = rows * factors
    return lattice_of_points(rows[:, :3], rows[:, 3:], str(path))
