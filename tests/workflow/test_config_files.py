"""A configuration has only what differs; its base has the rest, and each value's origin is known."""

import json
from pathlib import Path

import pytest

from parkf.io.errors import ParkfError
from parkf.workflow.config import check_name, load_config, read_config
from parkf.workflow.config_files import extended, laid, read_layers
from parkf.workflow.run import Run

ROOT = Path(__file__).parents[2]
DEFAULT = (ROOT / "workflow/config/default.yaml").read_text()


@pytest.fixture
def write(tmp_path):
    """Write configurations beside a copy of the default; return the path of the last one."""
    (tmp_path / "default.yaml").write_text(DEFAULT)

    def make(**texts):
        for name, text in texts.items():
            (tmp_path / f"{name}.yaml").write_text(text)
        return tmp_path / f"{name}.yaml"

    return make


def read(path):
    """Read a configuration whose inputs are the checkout's."""
    layers = read_layers(path)
    return load_config(laid(layers), ROOT, layers)


def test_only_what_differs_is_written(write):
    base = read(write(base="extends: default\nrun: base\nseed: 7\nevents: {training: 500}\n"))
    mine = read(write(mine="extends: base\nrun: mine\nevents: {validation: 50}\ntraining: {closure: null}\n"))
    assert (mine["run"], mine["seed"]) == ("mine", 7)
    assert mine["events"] == base["events"] | {"validation": 50}
    assert mine["events"]["training"] == 500
    assert mine["training"] == base["training"] | {"closure": None}
    assert mine["fits"] == base["fits"]
    # A list is one value.
    assert read(write(one="extends: mine\nrun: one\npolarities: [down]\n"))["polarities"] == ["down"]


def test_order_and_comments_change_nothing(write):
    one = read(write(one="extends: default\nrun: mine\nseed: 7\nevents: {training: 500, pile_up: 3.0}\n"))
    other = (
        "# Mine.\nevents:\n  pile_up: 3.0  # fewer\n  training: 500\nseed: 7\nrun: mine\nextends: default\n"
    )
    two = read(write(two=other))
    assert json.dumps(one) == json.dumps(two)
    assert json.dumps(Run(one).training) == json.dumps(Run(two).training)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"a": "extends: a\nrun: a\n"}, r"a\.yaml:1: extends: a circle: a, which extends a$"),
        (
            {"a": "extends: b\nrun: a\n", "b": "run: b\nextends: c\n", "c": "run: c\n\nextends: a\n"},
            r"b\.yaml:2: extends: a circle: c, which extends a, which extends b, which extends c$",
        ),
        (
            {"a": "extends: defualt\nrun: a\n"},
            r"a\.yaml:1: extends: defualt: no such .*; did you mean default\?$",
        ),
        (
            {"a": "extends: ../x/default\nrun: a\n"},
            r"a\.yaml:1: extends: \.\./x/default: no such configuration",
        ),
        ({"a": "run: a\nextends: [default]\n"}, r"a\.yaml:2: extends: got a list of 1, expected the name"),
        ({"b": "- 5\n", "a": "extends: b\nrun: a\n"}, r"b\.yaml: got a list of 1, expected the keys"),
        # A value is reported with the file and line that set it.
        (
            {"b": "extends: default\nrun: b\nseed: -1\n", "a": "extends: b\nrun: a\n"},
            r"b\.yaml:3: seed: got -1",
        ),
        (
            {"a": "extends: default\nrun: a\ntraining:\n  max_rwos: 5\n"},
            r"a\.yaml:4: training\.max_rwos: unknown key .*did you mean 'max_rows'\?; correct it there$",
        ),
        # A configuration does not inherit the name of its base.
        ({"a": "extends: default\nseed: 5\n"}, r"a\.yaml: run: missing; expected a value"),
        (
            {"a": "extends: default\nrun: a\nforms: improved\n"},
            r"default\.yaml:\d+: training\.noise_scale\.BEND: is for forms: production alone; extends: impr",
        ),
        (
            {"a": "extends: default\nrun: a\nforms: improved\ntraining:\n  client: trigger\n"},
            r"a\.yaml:5: training\.client: trigger: it has the forms of production alone",
        ),
    ],
)
def test_what_is_wrong_is_named_where_it_is(write, texts, message):
    path = write(**texts)
    with pytest.raises(ParkfError, match=message):
        read(path)


def test_the_command_line_lies_on_top(write):
    path = write(mine="extends: default\nrun: mine\nseed: 7\n")
    # The values that Snakemake reads from the file and from --config seed=8.
    given = {"extends": "default", "run": "mine", "seed": 8}
    whole, layers = extended(given, path.parent)
    assert (whole["seed"], whole["forms"]) == (8, "production")
    assert "extends" not in whole
    with pytest.raises(ParkfError, match="config: seed: got -1"):
        load_config(whole | {"seed": -1}, ROOT, layers)
    with pytest.raises(ParkfError, match=r"config: extends: mien: no such .*; did you mean mine\?"):
        extended(given | {"extends": "mien"}, path.parent)
    assert extended({"run": "alone"}, path.parent) == ({"run": "alone"}, [])


def test_a_missing_configuration_is_named_with_those_there(write):
    path = write(mine="extends: default\nrun: mine\n")
    with pytest.raises(
        ParkfError, match=r"mien\.yaml: no such configuration; did you mean mine\? there are default"
    ):
        read_config(path.with_name("mien.yaml"), ROOT)


def test_a_run_is_named_as_its_file_is():
    """A run with another name would write to the results of another configuration."""
    with pytest.raises(ParkfError, match=r"other\.yaml: run: got smoke, expected other, the name"):
        check_name(Path("other.yaml"), {"run": "smoke"})
    check_name(Path("workflow/config/other.yaml"), {"run": "other"})
