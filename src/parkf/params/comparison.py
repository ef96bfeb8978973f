"""Comparison of two sets: which numbers differ, and by how many standard errors."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from parkf.params.manifest import NumberDescription
from parkf.params.parameter_set import ParameterSet


@dataclass(frozen=True)
class Difference:
    """A number that is not the same in both sets.

    Attributes
    ----------
    first, second : float or None
        Values; None where a set does not have the number.
    pull : float or None
        Their difference over the error of both fits together; None where no fit has an error.
    """

    block: str
    set: str
    index: int
    name: str
    first: float | None
    second: float | None
    pull: float | None


@dataclass(frozen=True)
class Comparison:
    """Differences of two sets in numbers.

    Attributes
    ----------
    forms : tuple of str
        Sets of forms of both.
    differences : list of Difference
        Of the constant blob, in its order, for blocks that have the same formulas in both.
    other_formulas : list of str
        Blocks whose formulas differ, so that their numbers cannot be compared.
    table : int
        How many coefficients of the magnet table differ.
    table_largest : float
        Largest absolute difference of a coefficient.
    constants : dict of str to (float, float)
        Resolution and beam line, where they differ.
    """

    forms: tuple[str, str]
    differences: list[Difference]
    other_formulas: list[str]
    table: int
    table_largest: float
    constants: dict[str, tuple[float, float]]

    @property
    def identical(self) -> bool:
        """Whether fits with both sets have the same results."""
        same_formulas = self.forms[0] == self.forms[1] and not self.other_formulas
        return same_formulas and not self.differences and self.table == 0 and not self.constants


def changed(first: Mapping[str, object], second: Mapping[str, object]) -> list[str]:
    """Return the keys whose values differ, or that only one of the mappings has."""
    return [key for key in {**first, **second} if first.get(key) != second.get(key)]


def compare(first: ParameterSet, second: ParameterSet) -> Comparison:
    """Compare two sets, number by number."""
    other = changed(first.manifest.steps, second.manifest.steps)
    known = [_numbers(one, other) for one in (first, second)]
    differences = []
    for key, either in (known[0] | known[1]).items():
        a, b = (numbers.get(key) for numbers in known)
        values = [None if one is None else one.value for one in (a, b)]
        if values[0] != values[1]:
            differences.append(Difference(*key, (a or either).name, values[0], values[1], _pull(a, b)))
    change = second.table.astype(np.float64) - first.table
    constants = [one.manifest.constants.model_dump() for one in (first, second)]
    return Comparison(
        forms=(first.manifest.forms, second.manifest.forms),
        differences=differences,
        other_formulas=other,
        table=int(np.count_nonzero(change)),
        table_largest=float(np.abs(change).max()),
        constants={name: (constants[0][name], constants[1][name]) for name in changed(*constants)},
    )


def _numbers(parameters: ParameterSet, without: list[str]) -> dict[tuple[str, str, int], NumberDescription]:
    return {
        (block.name, one.label, index): number
        for block in (*parameters.manifest.layout, *(parameters.rich.layout if parameters.rich else ()))
        if block.name not in without
        for one in block.sets
        for index, number in enumerate(one.numbers)
    }


def _pull(a: NumberDescription | None, b: NumberDescription | None) -> float | None:
    if a is None or b is None:
        return None
    error = math.hypot(a.error or 0.0, b.error or 0.0)
    return (b.value - a.value) / error if error > 0 else None
