"""Comparison of two sets: which numbers differ, and by how many standard errors."""

import math
from dataclasses import dataclass

import numpy as np

from parkf.params.manifest import NumberDescription
from parkf.params.parameter_set import ParameterSet


@dataclass(frozen=True)
class Difference:
    """A number that is not the same in both sets.

    Attributes
    ----------
    block, set, index, name : str, str, int, str
        Which one.
    first, second : float or None
        Values; None where a set does not have the number.
    pull : float or None
        Their difference over its error, of both fits together; None where no fit says one.
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
    """How two sets differ in numbers.

    Attributes
    ----------
    forms : tuple of str
        Sets of forms of both.
    differences : list of Difference
        Of the constant blob, in its order, for blocks that have the same formulas in both.
    other_formulas : list of str
        Blocks whose numbers mean something else in each, and are not compared.
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
        """Whether a fit gives the same results with both."""
        same_forms = self.forms[0] == self.forms[1]
        same_formulas = same_forms and not self.other_formulas
        return same_formulas and not self.differences and self.table == 0 and not self.constants


def compare(first: ParameterSet, second: ParameterSet) -> Comparison:
    """Compare two sets, number by number."""
    steps = [one.manifest.steps for one in (first, second)]
    other = [name for name in {**steps[0], **steps[1]} if steps[0].get(name) != steps[1].get(name)]
    known = [_numbers(one, other) for one in (first, second)]
    differences = []
    for key in dict.fromkeys((*known[0], *known[1])):
        a, b = (numbers.get(key) for numbers in known)
        if a is None or b is None or a.value != b.value:
            block, label, index = key
            one = a or b
            assert one is not None
            differences.append(
                Difference(
                    *(block, label, index, one.name),
                    first=None if a is None else a.value,
                    second=None if b is None else b.value,
                    pull=_pull(a, b),
                )
            )
    change = second.table.astype(np.float64) - first.table
    constants = [one.manifest.constants.model_dump() for one in (first, second)]
    return Comparison(
        forms=(first.manifest.forms, second.manifest.forms),
        differences=differences,
        other_formulas=other,
        table=int(np.count_nonzero(change)),
        table_largest=float(np.abs(change).max()),
        constants={
            name: (value, constants[1][name])
            for name, value in constants[0].items()
            if value != constants[1][name]
        },
    )


def _numbers(parameters: ParameterSet, without: list[str]) -> dict[tuple[str, str, int], NumberDescription]:
    return {
        (block.name, one.label, index): number
        for block in parameters.manifest.layout
        if block.name not in without
        for one in block.sets
        for index, number in enumerate(one.numbers)
    }


def _pull(a: NumberDescription | None, b: NumberDescription | None) -> float | None:
    if a is None or b is None or (a.error is None and b.error is None):
        return None
    error = math.hypot(a.error or 0.0, b.error or 0.0)
    return (b.value - a.value) / error if error > 0 else None
