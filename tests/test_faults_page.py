"""The page on faults agrees with the files of the benchmarks."""

import json

from tools.faults import endings, mistakes, swaps
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


def test_mistakes_are_those_of_the_file() -> None:
    outcome = json.loads((OUTCOME.parent / "mistakes.json").read_text())
    planned = mistakes.read_cases()
    assert [one["name"] for one in outcome["cases"]] == [case.name for case in planned]
    assert len({case.name for case in planned}) == outcome["tried"] == 200
    assert mistakes.table(outcome["cases"]) in (ROOT / "docs/explanation/faults.md").read_text()


def test_endings_are_those_of_the_file() -> None:
    outcome = json.loads((OUTCOME.parent / "endings.json").read_text())
    assert endings.table(outcome["rows"]) in (ROOT / "docs/explanation/faults.md").read_text()


def test_a_message_is_judged_by_its_parts() -> None:
    case = mistakes.Case("mistakes", "n", "", [], where="a.yaml", what="5")
    whole = mistakes.judged(case, 1, "error: a.yaml: got 5, expected 4; write 4", [])
    assert not any([whole.missing, whole.silent, whole.raw, whole.traceback])
    assert mistakes.judged(case, 1, "error: a.yaml: got 5", []).missing == ["expected", "remedy"]
    assert mistakes.judged(case, 1, "error: b.yaml: got 4, expected 3", []).missing == [
        "what",
        "where",
        "remedy",
    ]
    assert mistakes.judged(case, 0, "fit: 5 tracks", []).silent
    assert not mistakes.judged(case, 0, "warning: 5", []).silent
    assert mistakes.judged(case, 1, "error: \x1b[2J", []).raw
