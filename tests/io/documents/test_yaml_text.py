import pytest

from parkf.io.documents import yaml_text
from parkf.io.documents.position import DocumentError


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: {b: 1:30}", r"a.b: got 1:30, which YAML reads as 90; .*, line 1"),
        ("a:\n- 190:20:30.15", r"a.0: got 190:20:30.15, .*, line 2"),
        ("a: 0777", r"a: got 0777, which YAML reads as 511; .*, line 1"),
        ("1:30: b", r"got 1:30, which YAML reads as 90"),
        ("a: 1" + 5000 * ":30", r"a: got 15001 characters, expected a number or a date, line 1"),
        ("a: 0b" + 16_000 * "1", r"a: got 16002 characters, expected a number or a date, line 1"),
    ],
)
def test_numbers_that_people_read_otherwise_are_refused(text, message):
    with pytest.raises(DocumentError, match=message):
        yaml_text.parse(text)


def test_numbers_and_text_that_look_alike_are_read_as_people_do():
    content, lines = yaml_text.parse("a: '1:30'\nb: '0777'\nc: 0\nd: 10\ne: 0.5\nf: -0\ng: 00.5\nh: 12:xx")
    assert content == {"a": "1:30", "b": "0777", "c": 0, "d": 10, "e": 0.5, "f": 0, "g": 0.5, "h": "12:xx"}
    assert lines["h",] == 8
