"""Fields as lists of points: ACTS's text and ROOT tree, and CSV; nodes of a grid in any order.

Text has six numbers a row, x y z Bx By Bz; lines that begin with % or # are comments. A ROOT tree has
branches of these names. CSV names its columns so, and may say their units behind: ``x [cm]``, ``By [G]``.
"""

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from parkf.imports.field.lattice import Lattice, lattice_of_points
from parkf.imports.root_files import open_tree, read_branches
from parkf.imports.units import FIELDS, LENGTHS, factor
from parkf.io.errors import ParkfError
from parkf.io.files import existing

COLUMNS = ("x", "y", "z", "Bx", "By", "Bz")


def read_text(path: Path, length: str | None, field: str | None) -> Lattice:
    """Read rows of six numbers, separated by blanks.

    Parameters
    ----------
    path : Path
    length, field : str or None
        Units; the format says none.

    Raises
    ------
    ParkfError
        When a unit is not said, or rows are not six numbers each.
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
    if not rows:
        raise ParkfError(f"{path}: no row of numbers")
    return _lattice(np.array(rows), path, dict.fromkeys(COLUMNS), length, field)


def read_csv(path: Path, length: str | None, field: str | None) -> Lattice:
    """Read a CSV file whose first line names x, y, z, Bx, By, Bz; parameters and errors as of `read_text`."""
    with existing(path).open(errors="replace") as file:
        header = [name.strip() for name in file.readline().split(",")]
        named = {}
        for index, name in enumerate(header):
            said = re.fullmatch(r"(\w+)\s*(?:\[(.+)\])?", name)
            if said is not None and said[1] in COLUMNS:
                named[said[1]] = (index, said[2])
        if missing := [name for name in COLUMNS if name not in named]:
            raise ParkfError(f"{path}: column '{missing[0]}' is missing; it has {', '.join(header)}")
        try:
            numbers = np.loadtxt(file, delimiter=",", ndmin=2)
        except ValueError as error:
            raise ParkfError(f"{path}: {error}") from error
    if not len(numbers):
        raise ParkfError(f"{path}: no row of numbers")
    values = numbers[:, [named[name][0] for name in COLUMNS]]
    return _lattice(values, path, {name: unit for name, (_, unit) in named.items()}, length, field)


def read_root(path: Path, length: str | None, field: str | None, tree: str | None) -> Lattice:
    """Read a tree with branches x, y, z, Bx, By, Bz; parameters and errors as of `read_text`.

    `tree` may be None where the file has one alone.
    """
    with open_tree(path, tree) as opened:
        arrays = read_branches(opened, COLUMNS, path)
    return _lattice(
        np.column_stack([arrays[name] for name in COLUMNS]), path, dict.fromkeys(COLUMNS), length, field
    )


def _lattice(
    rows: NDArray[np.float64], path: Path, said: dict[str, str | None], length: str | None, field: str | None
) -> Lattice:
    factors = []
    for name in COLUMNS:
        declared, units = (length, LENGTHS) if name in "xyz" else (field, FIELDS)
        in_file = said.get(name)
        if in_file is not None and declared is not None and in_file != declared:
            raise ParkfError(
                f"{path}: column '{name}' says [{in_file}], and it was declared to be {declared}"
            )
        factors.append(factor(in_file or declared, units, f"{path}: column '{name}'"))
    rows = rows * factors
    return lattice_of_points(rows[:, :3], rows[:, 3:], str(path))
