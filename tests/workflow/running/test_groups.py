"""Groups of jobs that would wait for each other are refused, and others are not."""

from pathlib import Path

import pytest
from parkf.workflow.running.plan import in_order, plan

from parkf.io.errors import ParkfError

BEGIN = """
from parkf.workflow.running.groups import check_groups_once
check_groups_once()
rule all:
    input: {last}
"""
RULE = """
rule {name}:
    input: {before}
    output: "{name}"
    group: {group}
    shell: "touch {{output}}"
"""


def planned(folder: Path, **rules: tuple[str, str]) -> list[str]:
    """Plan jobs, each with its group and the jobs that it waits for; return the names in order."""
    text = BEGIN.format(last=list(rules)) + "".join(
        RULE.format(name=name, group=repr(group) if group else None, before=before.split())
        for name, (group, before) in rules.items()
    )
    (folder / "Snakefile").write_text(text)
    (folder / "config.yaml").write_text("{}")
    dag = plan(folder / "Snakefile", folder / "config.yaml", folder, {"cores": 1})
    return [job.rule.name for job in in_order(dag)]


def test_a_group_whose_jobs_follow_each_other(tmp_path):
    assert planned(tmp_path, a=("", ""), b=("x", "a"), c=("x", "b"), d=("", "c")) == ["a", "b", "c", "d"]


def test_a_group_that_waits_for_itself(tmp_path):
    with pytest.raises(ParkfError, match=r"Remove c from the group or add b|rule c depends on rule"):
        planned(tmp_path, a=("x", ""), b=("", "a"), c=("x", "a b"))


def test_two_groups_that_wait_for_each_other(tmp_path):
    jobs = {
        "a": ("x", ""),
        "b": ("x", "f"),
        "c": ("x", "a b"),
        "d": ("y", "a"),
        "f": ("y", ""),
        "g": ("y", "d f"),
    }
    with pytest.raises(ParkfError, match=r"groups wait for each other: (x → y → x|y → x → y)"):
        planned(tmp_path, **jobs)
