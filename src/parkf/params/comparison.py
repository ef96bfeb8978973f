"""Comparison of two sets: which numbers differ, and by how many standard errors."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from parkf.params.manifest import BlockDescription, NumberDescription, numbers_in
from parkf.params.parameter_set import ParameterSet


@dataclass(frozen=True)
class Difference:
    """A number that is not the same in both sets."""

    block: str
    set: str
    index: int
    name: str
    first: float | None  # None where the set does not have the number
    second: float | None
    pull: float | None  # difference over the combined error of both fits; None if no fit has an error


@dataclass(frozen=True)
class Comparison:
    """Differences of two sets in numbers."""

    forms: tuple[str, str]  # sets of forms of both
    differences: list[Difference]  # in blocks that have the same formulas in both, in the blob's order
    other_formulas: list[str]  # blocks whose formulas differ, so that their numbers cannot be compared
    table: int  # how many coefficients of the magnet table differ
    table_largest: float  # largest absolute difference of a coefficient
    constants: dict[str, tuple[float, float]]  # resolution and beam line, where they differ
    # Steps inside the magnet: the largest absolute difference of a map, MeV/mm; None if they do not differ,
    # or do so in more than their numbers.
    slices_largest: float | None
    others: list[str]  # further parts that differ: slices, ghost_score

    @property
    def identical(self) -> bool:
        """Whether fits with both sets have the same results."""
        same_formulas = self.forms[0] == self.forms[1] and not self.other_formulas
        same_numbers = not self.differences and self.table == 0 and not self.constants
        return same_formulas and same_numbers and not self.others


def changed(first: Mapping[str, object], second: Mapping[str, object]) -> list[str]:
    """Return the keys whose values differ, or that only one of the mappings has."""
    return [key for key in {**first, **second} if first.get(key) != second.get(key)]


def compare(first: ParameterSet, second: ParameterSet) -> Comparison:
    """Compare two sets, number by number."""
    other = changed(first.manifest.steps, second.manifest.steps)
    before, after = (_numbers(one, other) for one in (first, second))
    differences = []
    for key, either in (before | after).items():
        a, b = before.get(key), after.get(key)
        one, two = (None if number is None else number.value for number in (a, b))
        if one != two:
            pull = None
            if a is not None and b is not None:
                error = math.hypot(a.error or 0.0, b.error or 0.0)
                pull = (b.value - a.value) / error if error > 0 else None
            differences.append(Difference(*key, (a or either).name, one, two, pull))
    change = second.table.astype(np.float64) - first.table
    constants = [one.manifest.constants.model_dump() for one in (first, second)]
    return Comparison(
        forms=(first.manifest.forms, second.manifest.forms),
        differences=differences,
        other_formulas=other,
        table=int(np.count_nonzero(change)),
        table_largest=float(np.abs(change).max()),
        constants={name: (constants[0][name], constants[1][name]) for name in changed(*constants)},
        slices_largest=_slices_apart(first, second),
        others=[
            name
            for name in ("slices", "ghost_score")
            if getattr(first.manifest, name) != getattr(second.manifest, name)
        ],
    )


def _slices_apart(first: ParameterSet, second: ParameterSet) -> float | None:
    one, two = first.slices, second.slices
    if one is None or two is None or one.maps.shape != two.maps.shape or np.array_equal(one.maps, two.maps):
        return None
    return float(np.abs(two.maps.astype(np.float64) - one.maps).max())


def described_blocks(parameters: ParameterSet) -> Iterator[BlockDescription]:
    """Yield the blocks whose numbers the manifest describes: those of all tracks, of RICH, of electrons."""
    yield from parameters.manifest.layout
    yield from parameters.rich.layout if parameters.rich else ()
    yield from parameters.manifest.electron.layout if parameters.manifest.electron else ()


def _numbers(parameters: ParameterSet, without: list[str]) -> dict[tuple[str, str, int], NumberDescription]:
    return {
        (block, label, index): number
        for block, label, index, number in numbers_in(described_blocks(parameters))
        if block not in without
    }
