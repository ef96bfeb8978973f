"""The page on faults agrees with the benchmark's file."""

import json

from tools.faults.page import OUTCOME, ROOT, table


def test_the_table_is_that_of_the_file() -> None:
    outcome = json.loads(OUTCOME.read_text())
    assert table(outcome) in (ROOT / "docs/explanation/faults.md").read_text()
    assert outcome["tried"] == len(outcome["cases"])
    assert outcome["survived"] == sum(case["survived"] for case in outcome["cases"])
    names = [case["name"] for case in outcome["cases"]]
    assert len(names) == len(set(names))
