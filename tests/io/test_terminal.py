"""Text of commands has nothing that a terminal obeys."""

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from parkf.io.terminal import escaped, say

OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@given(text=st.text(st.characters(codec=None)))
def test_nothing_is_left_that_a_terminal_obeys(text: str) -> None:
    assert not OBEYED.search(escaped(text))
    escaped(text).encode()


@given(text=st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp"])))
def test_other_text_stays(text: str) -> None:
    assert escaped(text) == text


@given(text=st.text())
def test_json_keeps_its_meaning(text: str) -> None:
    assert json.loads(escaped(json.dumps(text, ensure_ascii=False))) == text


def test_it_prints_as_print_does(capsys) -> None:
    say("a\x1b[2J", 1, sep="-", end="!\n")
    assert capsys.readouterr().out == "a\\x1b[2J-1!\n"
