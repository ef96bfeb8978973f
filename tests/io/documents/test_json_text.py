import pytest

from parkf.io.documents import json_text
from parkf.io.documents.document import read_document
from parkf.io.documents.position import DocumentError


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1e999", "expected a finite number"),
        ('{"a":\n1e0999}', "a: got inf, expected a finite number"),
        ('{"a": [0, {"b": NaN}]}', "a.1.b: got nan, expected a finite number"),
        ("123456789012345678901", "got an integer of 21 digits, expected one of 64 bits"),
        (f'{{"a": {-(2**63) - 1}}}', "a: got an integer of 19 digits, expected one of 64 bits"),
        ("1" * 5000, "integer"),
        ('[{"a": 1, "b": 2, "a": 1}]', "key 'a' is there twice"),
        ('{\n"a": "\\ud800"}', "got half a character, expected both halves"),
        ('{\n"\\udbff": 1}', "got half a character, expected both halves"),
        ("[1,\nNaN1]]", "line 2"),
        (70 * "[" + 70 * "]", "nested more than 64 deep"),
        (100_000 * "[", "nested more than 64 deep"),
    ],
)
def test_what_is_no_json_is_refused(text, message):
    with pytest.raises(DocumentError, match=message):
        json_text.parse(text)


def test_what_is_json_is_read():
    assert json_text.parse(f"[1, {2**64 - 1}, {-(2**63)}]") == [1, 2**64 - 1, -(2**63)]
    assert json_text.parse('"\\ud83d\\ude00"') == "\U0001f600"
    assert json_text.parse(64 * "[" + 64 * "]")


def test_values_have_lines(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"a": 1,\n "b": [0,\n  {"c": "\\u00e4"}]}')
    document = read_document(path)
    assert document.where(("b", 1, "c")) == f"{path}:3"
    assert document.inside(("b", 1)).where(("missing",)) == f"{path}:3"
