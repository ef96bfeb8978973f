"""Jobs of a rule share what their lists have alike, and each list is that which Snakemake makes."""

from types import SimpleNamespace

import pytest
from benchmarks.plan import plan, wide
from parkf.workflow.running import rules
from parkf.workflow.running.alike import hold_once
from parkf.workflow.running.plan import in_order
from snakemake.io import IOFile, _IOFile, is_flagged
from snakemake.iocontainers import Log

CHUNKS = 3
# Objects that are equal only to themselves.
_OWN = ("captions", "report")


@pytest.fixture(scope="module")
def jobs():
    """Jobs of a run in chunks."""
    return in_order(plan(*wide(CHUNKS)))


def content(items):
    """Return all that a list has: items and their names, types and flags."""
    named = [(name, getattr(items, name)) for name in items._names if name not in _OWN]
    return [
        (name, type(item), listed(item)) for name, item in [*items._allitems(), *named] if name not in _OWN
    ]


def listed(item):
    if type(item) is _IOFile:
        return (
            str(item),
            item.rule.name,
            {name: flag for name, flag in item.flags.items() if name not in _OWN},
        )
    return list(map(listed, item)) if isinstance(item, list) else item


def lists(job):
    return [content(getattr(job, name)) for name in ("input", "output", "params", "log", "resources")]


def test_lists_are_those_that_snakemake_makes(jobs, monkeypatch):
    monkeypatch.setattr(rules, "hold_once", lambda rule: None)
    alone = in_order(plan(*wide(CHUNKS)))
    assert [job.rule.name for job in jobs] == [job.rule.name for job in alone]
    for job, other in zip(jobs, alone, strict=True):
        assert lists(job) == lists(other)


def test_what_is_alike_is_one_object(jobs):
    one, *others = [job for job in jobs if job.rule.name == "draw"]
    assert len(others) == 2 * CHUNKS - 1
    for other in others:
        assert other.resources is one.resources
        assert other.params is one.params
        assert other.input.geometry is other.input[0] is one.input[0]
        assert other.input._names is one.input._names
        assert other.input.states is other.input[3] != one.input[3]
        assert other.output != one.output
        assert other.output[0].flags is one.output[0].flags


def test_no_rule_has_an_output_for_which_a_list_would_change(jobs):
    assert not any(is_flagged(file, "update") for job in jobs for file in job.output)


def test_paths_without_flags_have_none_to_share():
    kinds = ("input", "output", "params", "log", "resources")
    rule = SimpleNamespace(**{f"expand_{kind}": lambda path: Log([IOFile(path)]) for kind in kinds})
    hold_once(rule)
    assert [str(rule.expand_log(path)) for path in ("a", "b", "b")] == ["a", "b", "b"]
    assert rule.expand_log("c") is rule.expand_log("c")
