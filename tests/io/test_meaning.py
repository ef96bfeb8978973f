"""Documents of the same content have the same fingerprint, and others do not."""

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from parkf.io.errors import ParkfError
from parkf.io.fingerprints.meaning import is_file_of, meaning_of
from parkf.io.project import PROJECT


@pytest.mark.parametrize(
    "name",
    [
        "data/geometry/run3.yaml",
        "data/geometry/alignment_nominal.yaml",
        "workflow/config/default.yaml",
        "workflow/config/gates.yaml",
    ],
)
def test_a_comment_in_a_document_means_nothing(tmp_path, name):
    text = (PROJECT / name).read_text()
    path = tmp_path / Path(name).name
    path.write_text("# A comment.\n\n" + text.replace("\n", "  # why\n", 1) + "\n# The end.\n")
    assert meaning_of(path) == meaning_of(PROJECT / name)
    path.write_text(yaml.safe_dump(yaml.safe_load(text), default_style='"' if "gates" in name else None))
    again = yaml.safe_load(path.read_text()) == yaml.safe_load(text)
    assert (meaning_of(path) == meaning_of(PROJECT / name)) == again
    assert is_file_of(path, meaning_of(path))


def test_what_is_no_document_counts_by_its_bytes(tmp_path):
    for name in ("a.npz", "b.yaml", "c.json"):
        path = tmp_path / name
        path.write_text("{a: [1,")
        first = meaning_of(path)
        path.write_text("{a: [1, ")
        assert meaning_of(path) != first
    with pytest.raises(ParkfError, match="no such file"):
        meaning_of(tmp_path / "none.yaml")
    with pytest.raises(ParkfError, match="no such file"):
        meaning_of(tmp_path / "none.npz")


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), max_size=8)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


def _meaning(folder, text, kind="json"):
    path = folder / f"document.{kind}"
    path.write_text(text)
    return meaning_of(path)


def _shuffled(value, draw):
    if isinstance(value, dict):
        items = list(value.items())
        draw.shuffle(items)
        return {key: _shuffled(inner, draw) for key, inner in items}
    return [_shuffled(inner, draw) for inner in value] if isinstance(value, list) else value


def _alike(one, two):
    """Whether two contents are equal; truth values differ from numbers, and so do zeros of both signs."""
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(_alike(one[key], two[key]) for key in one)
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(_alike, one, two))
    numbers = [isinstance(value, int | float) and not isinstance(value, bool) for value in (one, two)]
    if all(numbers):
        return one == two and (one != 0 or str(one).startswith("-") == str(two).startswith("-"))
    return type(one) is type(two) and one == two


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("documents")


@given(VALUES, st.randoms(use_true_random=False))
def test_order_blanks_and_format_mean_nothing(folder, value, draw):
    text = json.dumps(value)
    other = json.dumps(
        _shuffled(value, draw), indent=draw.choice([None, 2]), ensure_ascii=draw.choice([True, False])
    )
    assert _meaning(folder, text) == _meaning(folder, f" {other}\n")
    dumped = yaml.safe_dump(
        _shuffled(value, draw),
        allow_unicode=True,
        default_flow_style=draw.choice([True, False, None]),
        sort_keys=False,
    )
    # YAML's writer writes some texts in a form that its reader takes for numbers.
    if _alike(yaml.safe_load(dumped), value):
        assert _meaning(folder, dumped, "yaml") == _meaning(folder, text)
        assert _meaning(folder, f"# A comment.\n{dumped}", "yaml") == _meaning(folder, text)


@given(VALUES, VALUES)
def test_other_contents_have_other_fingerprints(folder, one, two):
    assert (_meaning(folder, json.dumps(one)) == _meaning(folder, json.dumps(two))) == _alike(one, two)


@given(st.integers(-(2**53), 2**53))
def test_whole_numbers_mean_the_same_with_a_point(folder, number):
    assert _meaning(folder, f"[{number}]") == _meaning(folder, f"[{number}.0]")
    assert _meaning(folder, f"[{number}]") != _meaning(folder, f'["{number}"]')
