"""The page on data without truth shows the benchmark's figures, and they are as good as they have to be."""

import json
from pathlib import Path

import pytest
from benchmarks.monitor import FIELD, RATE_OF_SEEDS, sentence, table

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def found():
    return json.loads((ROOT / "benchmarks/results/monitor.json").read_text())


def test_table_and_sentence_are_those_of_the_file(found):
    page = (ROOT / "docs/how-to/monitor.md").read_text()
    assert table(found) in page
    assert sentence(found) in page


def test_an_unchanged_detector_is_seldom_changed_by_a_verdict(found):
    seeds = found["scenarios"]["no change"]
    assert sum(not one["named"] for one in seeds) <= len(seeds) * RATE_OF_SEEDS


def test_changes_are_named_with_their_size(found):
    """In at least 19 of 20 samples, within three errors."""
    for name, seeds in found["scenarios"].items():
        right = [one for one in seeds if one["named"] and (one.get("pull") is None or abs(one["pull"]) < 3)]
        if name != "no change":
            assert len(right) >= len(seeds) * (1 - RATE_OF_SEEDS), name
    assert len(found["scenarios"][FIELD]) == 20


def test_the_sequence_finds_changes_within_50_000_candidates(found):
    for seeds in found["scenarios"].values():
        for one in seeds:
            if "sequence" in one:
                assert one["sequence"]["found_after"] <= 50_000
    assert sum(one["alarms"] for one in found["false_alarms"]) == 0
    assert sum(one["candidates"] for one in found["false_alarms"]) >= 1e7
