"""The page on faults agrees with the files of the benchmarks."""

import json
from typing import Any

from tools.faults import kills, swaps
from tools.faults.project import ROOT

PAGE = (ROOT / "docs/explanation/faults.md").read_text()


def outcome(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((ROOT / f"benchmarks/results/{name}.json").read_text())
    return content


def test_killed_runs_are_those_of_the_file() -> None:
    tried = outcome("faults")
    assert kills.table(tried) in PAGE
    assert kills.passed(tried)
    by = [one["by"] for one in tried["kills"]]
    assert [by.count(starter) for starter in kills.STARTERS.values()] == [20, 10]
    assert {one["by"] for one in tried["ends"]} == {*by}


def test_exchanged_files_are_those_of_the_file() -> None:
    tried = outcome("swaps")
    assert swaps.table(tried) in PAGE
    assert len(tried["cases"]) == 60
    assert {one["kind"] for one in tried["cases"]} == {*swaps.KINDS}
    assert all(one["verify"] and one["run"] and one["right"] for one in tried["cases"])
