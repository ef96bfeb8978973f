"""Documents are checked by models: each mistake at its place, and no more of them than can be read."""

from typing import Annotated, Literal, Self

import pytest
from pydantic import Field, model_validator

from parkf.io.documents.models import MOST, Listed, Strict, load_document, refuse
from parkf.io.errors import ParkfError


class Part(Strict):
    low: float
    high: float = Field(le=10, description="mm")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        refuse([(("high",), f"got {self.high:g}, expected more than low")] if self.high <= self.low else [])
        return self


class Whole(Strict):
    name: str
    parts: Listed[Part] = Field((), max_length=3)
    by_side: dict[Literal["left", "right"], Part] = Field({})
    by_name: dict[Annotated[str, Field(pattern="^[a-z]+$")], int] = Field({})
    by_number: dict[Annotated[int, Field(lt=4)], int] = Field({})
    maybe: Part | None = None


@pytest.fixture
def refused(tmp_path):
    """Return the lines of the message that a document is refused with, without the file's name."""

    def read(text):
        path = tmp_path / "a.yaml"
        path.write_text(text)
        with pytest.raises(ParkfError) as caught:
            load_document(path, Whole)
        return str(caught.value).replace(str(path), "").splitlines()

    return read


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "name: a\nparts:\n- {low: 1, high: 2}\n- {low: 3,\n   high: 2}",
            ":5: parts.1.high: got 2, expected more",
        ),
        ("name: a\nparts: [1]", ":2: parts.0: got 1, expected a mapping of names to values"),
        ("name: a\nparts: [{low: 1, high: 20}]", ":2: parts.0.high: got 20, expected at most 10 (mm)"),
        ("name: a\nmaybe: {low: '1', high: 2}", "maybe.low: got the text '1', expected a number; write 1"),
        ("name: a\nmaybe: {low: true, high: 2}", "maybe.low: got true, expected a number"),
        (
            "name: a\nby_side:\n  lift: {low: 1, high: 2}",
            ":3: by_side.lift: unknown key 'lift'; did you mean 'left'?",
        ),
        ("name: a\nby_name: {A: 1}", "by_name.A: got the text 'A', expected text like '^[a-z]+$'"),
        ("name: a\nby_name: {a: 1.0}", "by_name.a: got 1, expected a whole number; write 1, without"),
        ("name: a\nby_number: {4: 1}", "by_number.4: got 4, expected less than 4"),
        (
            "name: a\n5: 1",
            ":2: 5: unknown key '5'; known here: by_name, by_number, by_side, maybe, name, parts",
        ),
        ("nmae: a", ":1: nmae: unknown key 'nmae'; did you mean 'name'?"),
        ("name: 5", ":1: name: got 5, expected text; write it in quotes"),
    ],
)
def test_a_mistake_is_named_where_it_is(refused, text, message):
    (line,) = refused(text)
    assert message in line


def test_many_mistakes_are_counted(refused):
    lines = refused("name: a\n" + "".join(f"key{number}: 1\n" for number in range(MOST + 7)))
    assert len(lines) == MOST + 1
    assert lines[-1] == ": 7 mistakes more; correct these first"
