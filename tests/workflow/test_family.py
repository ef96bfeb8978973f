"""A family has a member for each condition: the base with the settings of that condition."""

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from parkf.io.errors import ParkfError
from parkf.workflow.config_files import merged
from parkf.workflow.family import expand, leaves, load_family
from parkf.workflow.rounds import have_ended, rounds

ROOT = Path(__file__).parents[2]
SHIPPED = sorted((ROOT / "workflow/config/families").glob("*.yaml"))
BASE = {"seed": 1, "detector": {"geometry": "g", "alignment": "a"}, "field": {"source": "f", "spacing": 100}}
names = st.text("abc", min_size=1, max_size=3)
parts = st.fixed_dictionaries(
    {},
    optional={
        "seed": st.integers(),
        "detector": st.fixed_dictionaries({}, optional={"geometry": names, "alignment": names}),
        "field": st.fixed_dictionaries({}, optional={"source": names, "spacing": st.integers()}),
    },
)


@given(st.dictionaries(names, parts, min_size=1, max_size=5))
def test_a_member_is_the_base_but_for_its_own(conditions):
    members = expand("fam", BASE, conditions)
    assert [member.name for member in members] == list(conditions)
    for member in members:
        found, base = dict(leaves(member.config)), dict(leaves(BASE))
        assert found.pop("run") == f"fam.{member.name}"
        assert found.keys() >= base.keys()
        own = {key: value for key, value in member.own.items() if value != {}}
        assert found == base | own
        assert dict(leaves(conditions[member.name])) == member.own


@given(parts, parts)
def test_merging_keeps_what_only_one_has_and_changes_neither(below, above):
    before = (dict(leaves(below)), dict(leaves(above)))
    found = dict(leaves(merged(below, above)))
    for key, value in before[1].items():
        assert found.get(key, value) == value
    assert (dict(leaves(below)), dict(leaves(above))) == before
    assert merged({}, above) == above


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_families_pass_and_are_named_after_their_file(path):
    family = load_family(yaml.safe_load(path.read_text()), ROOT)
    assert family.name == path.stem
    assert len(family.members) > 1


@pytest.fixture
def config():
    return {
        "family": "fam",
        "base": "workflow/config/smoke.yaml",
        "conditions": {"one": {}, "two": {"seed": 5}},
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.update(famly=1), "family: famly: unknown key 'famly'; did you mean 'family'"),
        (lambda c: c.update(rounds=2), "family: expected either conditions or rounds"),
        (lambda c: c.pop("conditions"), "family: expected either conditions or rounds"),
        (lambda c: c.update(family="a.b"), r"family: family: got the text 'a\.b', expected text like"),
        (
            lambda c: c["conditions"].update({"Three-4": {}}),
            "conditions.Three-4: got the text 'Three-4', expected text like",
        ),
        (
            lambda c: c["conditions"]["two"].update(run="x"),
            "family: conditions.two.run: a member is named after",
        ),
        (
            lambda c: c["conditions"]["two"].update(sead=5),
            "config: sead: unknown key 'sead'; did you mean 'seed'",
        ),
        (
            lambda c: c["conditions"]["two"].update(detector={"alignment": "no.yaml"}),
            r"member two: config: detector\.alignment: no\.yaml: no such file",
        ),
        (
            lambda c: c["conditions"]["two"].update(validity={"first_run": 2, "last_run": 1}),
            "member two: config: validity: runs 2 to 1 ends before it begins",
        ),
        (lambda c: c.update(base="none.yaml"), r"none\.yaml: no such file"),
    ],
)
def test_every_mistake_is_named(config, change, message):
    change(config)
    with pytest.raises(ParkfError, match=message):
        load_family(config, ROOT)


def test_a_calibration_has_a_round_behind_each_that_changed_something(tmp_path):
    """Its members are the rounds that there are reasons for, up to the number of the configuration."""
    assert rounds("f", 3, tmp_path) == {"round1": {}}
    for number, converged in ((1, False), (2, True)):
        folder = tmp_path / f"results/f.round{number}/calibration"
        folder.mkdir(parents=True)
        (folder / "calibration.json").write_text(json.dumps({"converged": converged}))
    assert list(rounds("f", 3, tmp_path)) == ["round1", "round2"]
    second = rounds("f", 3, tmp_path)["round2"]
    assert second["field"] == {"source": "results/f.round1/calibration/field.npz"}
    assert second["detector"]["alignment"] == "results/f.round1/calibration/alignment.yaml"
    assert second["calibration"] == {"before": "results/f.round1/calibration/calibration.json"}
    (tmp_path / "results/f.round2/calibration/calibration.json").write_text('{"converged": false}')
    assert list(rounds("f", 3, tmp_path)) == ["round1", "round2", "round3"]
    assert list(rounds("f", 2, tmp_path)) == ["round1", "round2"]
    assert not have_ended("f", 1, 3, tmp_path)
    assert not have_ended("f", 2, 3, tmp_path)
    assert have_ended("f", 2, 2, tmp_path)
    assert not have_ended("f", 3, 3, tmp_path)
    (tmp_path / "results/f.round2/calibration/calibration.json").write_text('{"converged": true}')
    assert have_ended("f", 2, 3, tmp_path)
