"""Columns in another unit are refused, with the factor to the right one; columns in the right unit pass."""

from pathlib import Path

import numpy as np
import pytest

from parkf.io.checks import Unit, finite, require, require_units
from parkf.io.errors import ParkfError

PATH = Path("mine.parquet")
UNITS = {"p": Unit("MeV", 50.0, 3000.0, 5e5)}
VALUES = np.random.default_rng(1).uniform(1e3, 1e4, 100)


@pytest.mark.parametrize(
    ("factor", "remedy"), [(1e-3, "multiply by 1000"), (1e3, "divide by 1000"), (1e-6, "multiply by 1e")]
)
@pytest.mark.parametrize("sign", [1, -1])
def test_another_unit_is_refused(factor: float, remedy: str, sign: int) -> None:
    with pytest.raises(ParkfError, match=rf"mine\.parquet: column 'p' .*expected MeV.*{remedy}"):
        require_units(PATH, {"p": sign * factor * VALUES}, UNITS)


def test_the_right_unit_passes_with_values_that_are_missing() -> None:
    values = np.concatenate([VALUES, np.full(1000, np.nan), np.zeros(1000)])
    require_units(PATH, {"p": values.reshape(-1, 2)}, UNITS)


def test_a_few_values_decide_nothing() -> None:
    require_units(PATH, {"p": 1e-3 * VALUES[:19]}, UNITS)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_are_finite(value: float) -> None:
    with pytest.raises(ParkfError, match=r"column 'p', row 2: got .*expected a finite number"):
        require(PATH, {"p": np.array([1.0, 2.0, value])}, *finite("p"))


def test_the_first_row_of_a_broken_rule_is_named_with_all_its_columns() -> None:
    columns = {"p": np.array([1.0, 2.0, 3.0]), "q": np.array([3, 2, 1])}
    rule = ("p q", lambda p, q: p < q, "p below q")
    with pytest.raises(ParkfError, match=r"column 'p', row 11: got p = 2, q = 2, expected p below q"):
        require(PATH, columns, rule, begin=10)
