"""The page on mistakes that tests notice agrees with the benchmark's file, and no room is left out."""

import json
from pathlib import Path

import pytest
from tools.mutants.known import KNOWN, mistaken
from tools.mutants.mutant import ROOT
from tools.mutants.page import OUTCOME, OUTCOME_OF_KNOWN, known_table, table


@pytest.fixture(scope="module")
def outcome():
    return json.loads(OUTCOME.read_text())


def test_the_table_is_that_of_the_file(outcome) -> None:
    assert table(outcome) in (ROOT / "docs/explanation/mutants.md").read_text()


def test_known_mistakes_were_noticed_and_can_be_made_again() -> None:
    """A mistake whose place in the code has gone is replaced in known.yaml, and tried again."""
    outcome = json.loads(OUTCOME_OF_KNOWN.read_text())
    assert known_table(outcome) in (ROOT / "docs/explanation/mutants.md").read_text()
    assert [{key: one[key] for key in KNOWN[0]} for one in outcome["tried"]] == KNOWN
    for one in outcome["tried"]:
        assert one["killed_by"].startswith(one["test"])
        compile(mistaken(one), one["file"], "exec")


def test_every_room_was_tried(outcome) -> None:
    rooms = {path.parent.name for path in Path(ROOT / "src/parkf").glob("*/__init__.py")}
    assert set(outcome["areas"]) == rooms | {"kernel"}
    assert all(room["mutants"] >= 10 for room in outcome["areas"].values())
    assert {one["area"] for one in outcome["tried"]} == set(outcome["areas"])


def test_the_scores_are_those_of_the_mutants(outcome) -> None:
    reasons = {one["key"]: one["reason"] for one in outcome["survivors"]}
    assert all(reasons.values())
    for room, score in outcome["areas"].items():
        own = [one for one in outcome["tried"] if one["area"] == room]
        alive = [one for one in own if not one["killed_by"]]
        equivalent = sum(reasons[one["key"]].startswith("equivalent") for one in alive)
        assert (score["mutants"], score["killed"]) == (len(own), len(own) - len(alive))
        assert score["score"] == pytest.approx((len(own) - len(alive)) / (len(own) - equivalent), abs=6e-4)
