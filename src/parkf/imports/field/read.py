"""Reading of field maps: LHCb's formats, and CSV with the nodes of a grid in any order.

The columns of CSV are x, y, z, Bx, By and Bz, possibly with units: ``x [cm]``, ``By [G]``.
"""

import re
from pathlib import Path

import numpy as np

from parkf.detector.field import ON_AXIS, STRONGEST, FieldMap
from parkf.imports.columns import FIELDS, LENGTHS, factor
from parkf.imports.field.lattice import Lattice, lattice_of_points
from parkf.imports.field.lhcb import read_allen, read_cdf
from parkf.io.checks import times
from parkf.io.errors import ParkfError, few
from parkf.io.files import existing, matching
from parkf.io.option_types import Interpolation, Outside

_COLUMNS = ("x", "y", "z", "Bx", "By", "Bz")
_PEAK = 1.04  # T, on the axis


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
        lattice = _read_csv(path, length, unit)
    else:
        lattice = read_cdf(paths) if ending == ".cdf" else read_allen(path)
    _require_tesla(lattice, source)
    values = np.ascontiguousarray(-polarity * lattice.values, dtype=np.float32)
    return FieldMap(lattice.origin, lattice.spacing, values, interpolation, outside)


def _require_tesla(lattice: Lattice, source: str) -> None:
    """Refuse an impossible field strength; the message has its ratio to LHCb's."""
    sizes = np.abs(lattice.values).max(axis=3)
    if sizes.max() <= STRONGEST:
        return
    middle = np.clip(np.rint(-lattice.origin / lattice.spacing), 0, np.array(lattice.values.shape[:3]) - 1)
    column = lattice.values[int(middle[0]), int(middle[1])]
    # Two wrong nodes on the axis are no other unit.
    ratio = float(np.sort(np.abs(column).max(axis=1))[-3:][0]) / _PEAK
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


def _read_csv(path: Path, length: str | None, unit: str | None) -> Lattice:
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
    return lattice_of_points(np.column_stack(columns[:3]), np.column_stack(columns[3:]), str(path))
