import pytest

from parkf.io.documents import json_text
from parkf.io.documents.position import DocumentError


@pytest.mark.parametrize(
    "text",
    [
        "1e999",
        "-1.5E+400",
        "[1, -1e999]",
        '{"a":\n1e0999}',
        "123456789012345678901",
        '{"a": [0,-123456789012345678901]}',
    ],
)
def test_numbers_that_no_double_holds_are_refused_wherever_they_stand(text):
    with pytest.raises(DocumentError, match="expected"):
        json_text.parse(text)
    assert json_text.parse(text, finite=False) is not None


@pytest.mark.parametrize(("value", "digits"), [(2**64, 20), (-(2**63) - 1, 19), (-(10**24), 25)])
def test_integers_beyond_64_bits_are_told_by_their_digits(value, digits):
    with pytest.raises(DocumentError, match=f"got an integer of {digits} digits, expected one of 64 bits"):
        json_text.parse(f'{{"a": {value}}}')


@pytest.mark.parametrize("value", [2**64 - 1, -(2**63)])
def test_integers_of_64_bits_are_read(value):
    assert json_text.parse(f"[1, {value}]") == [1, value]


@pytest.mark.parametrize(
    "text", ["[1,\nNaN1]]", "[1,\nNaN]]", '[1,\n-Infinity"a"}}', '{"a": [],\n"b": NaNnull}}']
)
def test_what_is_no_number_is_refused_whatever_follows(text):
    with pytest.raises(DocumentError, match=r"got \S+, expected a") as error:
        json_text.parse(text)
    assert error.value.line == 2


def test_checksums_are_no_numbers(monkeypatch):
    """Most checksums have an e before three digits, as huge numbers do, but must not slow reading down."""
    monkeypatch.setattr(json_text, "_values", lambda text: pytest.fail("gone through"))
    assert json_text.parse('{"sha256": "0e999123456789012345678901"}')
