"""The page on faults agrees with the files of the benchmarks."""

import json

from tools.faults import swaps
from tools.faults.page import OUTCOME, ROOT, table


def test_the_table_is_that_of_the_file() -> None:
    outcome = json.loads(OUTCOME.read_text())
    assert table(outcome) in (ROOT / "docs/explanation/faults.md").read_text()
    assert outcome["tried"] == len(outcome["cases"])
    assert outcome["survived"] == sum(case["survived"] for case in outcome["cases"])
    names = [case["name"] for case in outcome["cases"]]
    assert len(names) == len(set(names))


def test_exchanged_files_are_those_of_the_file() -> None:
    outcome = json.loads((OUTCOME.parent / "swaps.json").read_text())
    page = (ROOT / "docs/explanation/faults.md").read_text()
    assert swaps.table(outcome) in page
    assert outcome["tried"] == outcome["passed"] == len(outcome["cases"])
    assert f"{outcome['tried']} of {outcome['planned']} planned cases were tried" in page
