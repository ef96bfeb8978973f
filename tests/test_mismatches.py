"""The page on candidates of another detector agrees with the file of the benchmark."""

import json

from tools.mismatches.page import OUTCOME, ROOT, costs, counts, mistakes
from tools.mismatches.wrong import MISTAKES


def test_the_tables_are_those_of_the_file() -> None:
    outcome = json.loads(OUTCOME.read_text())
    page = (ROOT / "docs/reference/mismatches.md").read_text()
    for part in (counts, mistakes, costs):
        assert part(outcome) in page


def test_every_mistake_was_tried_and_none_passed() -> None:
    cases = json.loads(OUTCOME.read_text())["cases"]
    tried = {case["what"]: case["outcome"] for case in cases if case["kind"] == "mistake"}
    assert tried.keys() == MISTAKES.keys()
    assert "passed" not in tried.values()
