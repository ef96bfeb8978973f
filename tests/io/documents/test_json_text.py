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


def test_a_key_that_is_there_twice_is_found_by_one_look_at_each(monkeypatch):
    """Many names took a time that grew with the square of their number."""
    looks = 0

    class Key(str):
        __slots__ = ()

        def __eq__(self, other):
            nonlocal looks
            looks += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    names = [Key(f"key{number}") for number in range(2000)]
    with pytest.raises(json_text._SuspicionError, match="'key1999' is there twice"):
        json_text._unique([(name, 0) for name in (*names, Key("key1999"))])
    assert looks < 20_000
    text = "{" + ", ".join(f'"{name}":\n0' for name in (*names, "key1999")) + "}"
    with pytest.raises(DocumentError, match=r"'key1999' is there twice, first in line 2000; .*, line 2001"):
        json_text.parse(text)


@pytest.mark.parametrize("text", ['{\n"a": "\\ud800"}', '{\n"\\udbff": 1}', '[1,\n"\\udc00"]'])
def test_half_a_character_is_refused_with_its_line(text):
    with pytest.raises(DocumentError, match="got half a character, expected both halves") as error:
        json_text.parse(text)
    assert error.value.line == 2


def test_a_character_of_two_halves_is_read():
    assert json_text.parse('"\\ud83d\\ude00"') == "\U0001f600"
