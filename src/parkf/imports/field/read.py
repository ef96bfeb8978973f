"""Reading of field maps in all formats."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from parkf.detector.field import STRONGEST, FieldMap
from parkf.imports.field.lattice import Lattice, unfold
from parkf.imports.field.lhcb import read_allen, read_cdf
from parkf.imports.field.points import Declared, read_csv, read_root, read_text
from parkf.imports.inspection import times
from parkf.io.errors import ParkfError
from parkf.io.files import matching
from parkf.io.option_types import Interpolation, Outside

_WITH_UNITS = (".cdf", ".bin")
_POINTS = {".txt": read_text, ".xyz": read_text, ".csv": read_csv, ".root": read_root}
FORMATS = (*_WITH_UNITS, *_POINTS)
"""Endings of the files' names."""
_PEAK = 1.04  # T, on the axis


def read_field(
    source: str,
    declared: Declared | None = None,
    *,
    interpolation: Interpolation = "linear",
    outside: Outside = "error",
) -> FieldMap:
    """Read a map in a format of LHCb's, ACTS's, or as CSV, and convert it to MagDown.

    Parameters
    ----------
    source : str
        A file, or a pattern for the four of a ``.cdf`` map.
    declared : Declared, optional
    interpolation, outside
        As for `FieldMap`.

    Raises
    ------
    ParkfError
        When files are missing, damaged or of no known format, a unit is not declared, or one is declared that
        the format has itself.
    """
    declared = Declared() if declared is None else declared
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
    """Refuse a field that no map can hold; the message has its ratio to LHCb's."""
    if np.abs(lattice.values).max() <= STRONGEST:
        return
    middle = np.clip(np.rint(-lattice.origin / lattice.spacing), 0, np.array(lattice.values.shape[:3]) - 1)
    column = lattice.values[int(middle[0]), int(middle[1])]
    ratio = float(np.abs(column).max()) / _PEAK
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
    return read_allen(path) if path.suffix == ".bin" else _POINTS[path.suffix](path, declared)
