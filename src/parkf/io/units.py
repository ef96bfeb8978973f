"""Units of columns by their physics: values that no detector has are in another unit than expected."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.io.errors import ParkfError

# Fewer values decide nothing: a few tracks may be unusual.
_FEWEST = 20


@dataclass(frozen=True)
class Unit:
    """A unit, and limits of the median size of values in it; `typical` is a usual median."""

    name: str
    low: float
    typical: float
    high: float


def require_units(path: Path, columns: Mapping[str, NDArray[Any]], units: Mapping[str, Unit]) -> None:
    """Raise a ParkfError if the median size of a column is outside the limits of its unit.

    `columns` are arrays of any shape. Zeros and values that are not finite do not count. The message has the
    median, and the power of ten that brings it to the usual one.
    """
    for name, unit in units.items():
        sizes = np.abs(columns[name][np.isfinite(columns[name])])
        sizes = sizes[sizes > 0.0]
        if len(sizes) < _FEWEST or unit.low <= (median := float(np.median(sizes))) <= unit.high:
            continue
        power = round(float(np.log10(unit.typical / median)))
        how = f"multiply by {10**power:g}" if power > 0 else f"divide by {10**-power:g}"
        raise ParkfError(
            f"{path}: column '{name}' has the median {median:.3g}, expected {unit.name}, a median"
            f" from {unit.low:g} to {unit.high:g}; is it in another unit? {how if power else 'convert it'}"
        )


def require_finite(path: Path, columns: Mapping[str, NDArray[Any]], *names: str) -> None:
    """Raise a ParkfError if a value of these columns (n,) is not a finite number."""
    for name in names:
        wrong = np.flatnonzero(~np.isfinite(columns[name]))
        if len(wrong):
            got = columns[name][wrong[0]]
            raise ParkfError(
                f"{path}: column '{name}', row {wrong[0]}: got {got}, expected a finite number;"
                " correct the row"
            )
