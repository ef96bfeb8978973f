"""Checks of columns: values that are impossible, and medians that reveal another unit.

A message names file, column and row (from 0), the value that was found, the one expected, and what to do.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.io.errors import ParkfError

# Fewer values decide nothing: a few tracks may be unusual.
_FEWEST = 20

Rule = tuple[str, Callable[..., NDArray[np.bool_]], str]
"""Names of columns, separated by blanks; whether their values are right, (n,); and what is expected."""


def finite(*names: str) -> list[Rule]:
    """Return the rules that columns hold finite numbers."""
    return [(name, np.isfinite, "a finite number") for name in names]


def within(low: float, high: float) -> Callable[[NDArray[Any]], NDArray[np.bool_]]:
    """Return a check that values are from `low` to `high`; NaN is not."""
    return lambda values: (values >= low) & (values <= high)


def require(where: object, columns: Mapping[str, NDArray[Any]], *rules: Rule, begin: int = 0) -> None:
    """Raise a ParkfError for the first row of columns (n,) that breaks one of the rules, in their order.

    `where` names the table, and `begin` is the number of its first row here.
    """
    for rule in rules:
        right = holds(rule, columns)
        if not right.all():
            row = int(np.argmin(right))
            raise ParkfError(broken(where, rule, columns, row, begin + row))


def holds(rule: Rule, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.bool_]:
    """Return whether rows (n,) fulfil a rule."""
    return rule[1](*(columns[name] for name in rule[0].split()))


def broken(where: object, rule: Rule, columns: Mapping[str, NDArray[Any]], row: int, number: int) -> str:
    """Return the message for a row of columns that breaks a rule, and has this number in the table."""
    names, _, expected = rule
    shown = [f"{name} = {columns[name][row]:g}" for name in names.split()]
    got = ", ".join(shown) if len(shown) > 1 else shown[0].partition(" = ")[2]
    place = f"{where}: column '{names.split()[0]}', row {number}"
    return f"{place}: got {got}, expected {expected}; correct the row, or convert the column"


@dataclass(frozen=True)
class Unit:
    """A unit, and limits of the median size of values in it; `typical` is a usual median."""

    name: str
    low: float
    typical: float
    high: float


POLARITY: Rule = ("polarity", lambda polarity: np.abs(polarity) == 1, "+1 (MagUp) or -1 (MagDown)")
MOMENTUM = Unit("MeV", 50.0, 3e3, 5e5)
# z of hits in the detectors behind the VELO.
Z_OF_HITS = {"UT": Unit("mm", 1500.0, 2500.0, 4000.0), "SciFi": Unit("mm", 5000.0, 8500.0, 12000.0)}


def require_units(where: object, columns: Mapping[str, NDArray[Any]], units: Mapping[str, Unit]) -> None:
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
            f"{where}: column '{name}' has the median {median:.3g}, expected {unit.name}, a median"
            f" from {unit.low:g} to {unit.high:g}; is it in another unit? {how if power else 'convert it'}"
        )


def power_of_ten(ratio: float) -> int:
    """Exponent of the power of ten within a third of a ratio, else 0: 1 for 9.8, and 0 for 0.97 and 4.

    An exponent other than 0 reveals a wrong unit, in spite of smaller deviations.
    """
    if not ratio > 0.0:
        return 0
    nearest = round(math.log10(ratio))
    return nearest if 0.75 < ratio / 10.0**nearest < 4 / 3 else 0


def times(ratio: float) -> str:
    """Text of a ratio, such as "1000 times" in "1000 times too strong"."""
    power = power_of_ten(ratio)
    return f"{10 ** abs(power)} times" if power else f"{max(ratio, 1 / ratio):.3g} times"
