"""Reading of field maps in all formats."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from parkf.detector.field import STRONGEST, FieldMap
from parkf.imports.bending import times
from parkf.imports.field.allen import read_allen
from parkf.imports.field.cdf import read_cdf
from parkf.imports.field.lattice import Lattice, unfold
from parkf.imports.field.points import read_csv, read_root, read_text
from parkf.imports.globs import matching
from parkf.io.errors import ParkfError
from parkf.io.option_types import Interpolation, Outside

# Formats by the ending of a file's name.
FORMATS = {".cdf": "cdf", ".bin": "allen", ".txt": "text", ".xyz": "text", ".csv": "csv", ".root": "root"}
_PEAK = 1.04  # T, on the axis
_WITH_UNITS = ("cdf", "allen")


@dataclass(frozen=True)
class Declared:
    """What a user says about a map, since its format does not.

    Attributes
    ----------
    length, field : str or None
        Units: keys of `parkf.imports.units.LENGTHS` and `FIELDS`. None where the format says them.
    symmetry : str
        Of `parkf.imports.field.lattice.Symmetry`.
    polarity : int
        +1 MagUp, -1 MagDown: that the map was made for.
    tree : str or None
        Of a ROOT file.
    """

    length: str | None = None
    field: str | None = None
    symmetry: str = "none"
    polarity: int = -1
    tree: str | None = None


def read_field(
    source: str,
    declared: Declared | None = None,
    *,
    interpolation: Interpolation = "linear",
    outside: Outside = "error",
) -> FieldMap:
    """Read a map in a format of LHCb's, ACTS's, or as CSV; it comes out as it is for MagDown.

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
        When files are missing, damaged or of no known format, a unit is not said, or one is said that the
        format says itself.
    """
    declared = Declared() if declared is None else declared
    paths = matching(source)
    kind = FORMATS.get(paths[0].suffix)
    if kind is None:
        raise ParkfError(f"{paths[0]}: unknown format, expected a name that ends in {', '.join(FORMATS)}")
    lattice = unfold(_lattice(kind, paths, declared), declared.symmetry, str(paths[0]))
    if declared.polarity not in (-1, 1):
        raise ParkfError(f"{source}: polarity {declared.polarity!r}, expected +1 (MagUp) or -1 (MagDown)")
    _require_tesla(lattice, source)
    values = np.ascontiguousarray(-declared.polarity * lattice.values, dtype=np.float32)
    return FieldMap(lattice.origin, lattice.spacing, values, interpolation, outside)


def _require_tesla(lattice: Lattice, source: str) -> None:
    """Say of a field that no map can hold how much too strong it is."""
    if np.abs(lattice.values).max() <= STRONGEST:
        return
    middle = [int(n) for n in np.clip(np.rint(-lattice.origin / lattice.spacing), 0, None)[:2]]
    column = lattice.values[
        min(middle[0], len(lattice.values) - 1), min(middle[1], lattice.values.shape[1] - 1)
    ]
    ratio = float(np.abs(column).max()) / _PEAK
    raise ParkfError(
        f"{source}: the field is {times(ratio)} too strong; the unit is another one than said (near the axis "
        f"it rises to {ratio * _PEAK:.4g} T, LHCb's to {_PEAK:g})"
    )


def _lattice(kind: str, paths: Sequence[Path], declared: Declared) -> Lattice:
    if kind in _WITH_UNITS and (declared.length or declared.field):
        raise ParkfError(f"{paths[0]}: this format has units of its own; say none")
    if kind == "cdf":
        return read_cdf(paths)
    if len(paths) > 1:
        raise ParkfError(f"{len(paths)} files, {paths[0]} first, expected one")
    path, units = paths[0], (declared.length, declared.field)
    if kind == "allen":
        return read_allen(path)
    if kind == "text":
        return read_text(path, *units)
    return read_csv(path, *units) if kind == "csv" else read_root(path, *units, declared.tree)
