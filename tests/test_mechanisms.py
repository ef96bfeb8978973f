"""There is one mechanism for each thing."""

import pytest
from tools.mechanisms import BARS, mechanisms

FOUND = mechanisms()


@pytest.mark.parametrize("name", FOUND)
def test_no_more_mechanisms_than_their_bar(name: str) -> None:
    assert len(FOUND[name]) <= BARS[name], sorted({*FOUND[name]})


def test_the_one_ledger_and_the_one_validator_are_found() -> None:
    assert FOUND["ledgers"] == ["src/parkf/io/ledger.py"]
    assert "src/parkf/io/documents/models.py" in FOUND["validators"]
