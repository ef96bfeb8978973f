"""Calls of stages: words are read back as the values that they were, and mistakes are named."""

import json
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parkf.stages import call
from parkf.stages.call import UsageError, module_of, read_call
from parkf.stages.files import AllMade, AllRead, Made, Read
from parkf.workflow.rules import text_of


def toy(
    *,
    table: Read,
    parts: AllRead,
    start: Read | None = None,
    output: Made,
    pages: AllMade,
    count: int,
    width: float = 0.5,
    fast: bool = False,
    forms: Literal["improved", "production"] = "improved",
    names: list[str],
    seeds: list[int],
    settings: dict[str, Any],
    most: int | None = None,
    threads: int = 1,
) -> None:
    """Take every kind of argument."""


@pytest.fixture(autouse=True)
def stage(monkeypatch, tmp_path_factory):
    monkeypatch.chdir(tmp_path_factory.mktemp("folder"))
    monkeypatch.setattr(call, "module_of", lambda name: name)
    monkeypatch.setattr(call, "import_module", lambda name: SimpleNamespace(toy=toy))


USUAL: dict[str, Any] = {
    "table": "t.npz",
    "parts": ["a", "b"],
    "output": "o.json",
    "pages": ["p"],
    "count": 1,
    "names": ["n"],
    "seeds": [1],
    "settings": {},
}


def words_of(arguments):
    words = []
    for name, value in arguments.items():
        values = value if isinstance(value, list) else [value]
        words += [
            f"--{name.replace('_', '-')}",
            *(text_of(one) if isinstance(one, dict) else str(one) for one in values),
        ]
    return words


def read(**changed):
    return read_call("toy", words_of(USUAL | changed))


words = st.text(st.characters(exclude_characters="*", exclude_categories=["Cs"]), min_size=1).filter(
    lambda text: not text.startswith("--")
)
whole = st.integers(-(2**63), 2**63 - 1)
values = st.recursive(
    st.none() | st.booleans() | whole | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)


@given(
    st.fixed_dictionaries(
        {
            "count": st.integers(),
            "names": st.lists(words),
            "seeds": st.lists(st.integers()),
            "settings": st.dictionaries(words, values),
        },
        optional={
            "width": st.floats(allow_nan=False),
            "fast": st.booleans(),
            "forms": st.sampled_from(["improved", "production"]),
            "most": st.integers(),
            "threads": st.integers(1, 99),
        },
    )
)
def test_what_is_written_is_read(given):
    found = read(**given)
    assert {name: found.arguments[name] for name in given} == given
    defaults = {"width": 0.5, "fast": False, "forms": "improved", "most": None}
    expected = defaults | {name: value for name, value in given.items() if name != "threads"}
    assert found.values == expected
    assert found.threads == given.get("threads", 1)


@given(st.permutations(list(USUAL)))
def test_the_order_of_arguments_does_not_count(names):
    found = read_call("toy", words_of({name: USUAL[name] for name in names}))
    assert (found.inputs, found.values, set(found.outputs)) == (
        {"table": [Path("t.npz")], "parts": [Path("a"), Path("b")]},
        read().values,
        {Path("o.json"), Path("p")},
    )


def test_files_that_a_rule_does_not_have_are_as_good_as_absent():
    absent = read()
    assert read(start=[]) == absent
    assert "start" not in absent.arguments
    assert read(start="s.npz").inputs["start"] == [Path("s.npz")]
    # A list of files may be empty, and an option without a value is on.
    assert read(parts=[], names=[]).arguments["parts"] == []
    assert read(fast=[]).values["fast"] is True


def test_chunks_of_a_pattern_are_in_the_order_of_their_numbers():
    names = [f"up/{number}-of-12.parquet" for number in range(1, 13)]
    Path("up").mkdir()
    for name in random.Random(3).sample(names, len(names)):
        Path(name).write_text("")
    assert list(map(str, read(parts=["up/*-of-12.parquet", "x"]).arguments["parts"])) == [*names, "x"]
    with pytest.raises(UsageError, match=r"down/\*\.parquet: no such files"):
        read(parts=["down/*.parquet"])
    # What a stage makes is no pattern.
    assert read(output="o*.json").outputs[0] == Path("o*.json")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"count": "many"}, "toy: --count: got many, expected int"),
        ({"count": "1.5"}, "toy: --count: got 1.5, expected int"),
        ({"count": [1, 2]}, "toy: --count: got 2 values, expected one"),
        ({"width": "wide"}, "toy: --width: got wide, expected float"),
        ({"fast": "yes"}, "toy: --fast: got yes, expected bool"),
        ({"forms": "best"}, "toy: --forms: got best, expected improved or production"),
        ({"seeds": [1, "two"]}, "toy: --seeds: got two, expected int"),
        ({"table": ["a", "b"]}, "toy: --table: got 2 values, expected one"),
        ({"cuont": 1}, "toy: no argument --cuont; expected some of table, parts"),
        ({"settings": "{"}, "toy: --settings: got {, expected a mapping as JSON: Expecting property name"),
        ({"settings": "[1]"}, "toy: --settings: got [1], expected a mapping as JSON: it is no mapping"),
        ({"settings": '{"a": 1, "a": 2}'}, "expected a mapping as JSON: key 'a' is there twice"),
        ({"settings": '{"a": NaN}'}, "expected a mapping as JSON: a: got nan, expected a finite number"),
    ],
)
def test_a_mistake_is_named_with_stage_and_argument(changed, said):
    with pytest.raises(UsageError) as raised:
        read(**changed)
    assert said in str(raised.value)


@pytest.mark.parametrize("name", USUAL)
def test_an_argument_without_which_nothing_works_is_named(name):
    rest = {one: value for one, value in USUAL.items() if one != name}
    with pytest.raises(UsageError, match=f"toy: --{name} is missing"):
        read_call("toy", words_of(rest))


def test_a_word_before_all_names_is_refused():
    with pytest.raises(UsageError, match=r"got t\.npz, expected --name and its values"):
        read_call("toy", ["t.npz"])


@pytest.mark.parametrize("name", ["trian", "call", "__main__", "a.b", ""])
def test_a_stage_that_does_not_exist_is_named_with_those_that_do(name):
    with pytest.raises(UsageError, match=f"no stage {name}; there are accuracy, .*, validate$"):
        module_of(name)


@given(st.dictionaries(words, values))
def test_a_mapping_is_one_word_that_does_not_depend_on_its_order(content):
    turned = dict(reversed(content.items()))
    assert text_of(turned) == text_of(content)
    assert json.loads(text_of(content)) == content
