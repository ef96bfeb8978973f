"""The page on calibration shows the benchmark's figures, and they are as good as they have to be."""

import json
from pathlib import Path

import pytest
from benchmarks.calibrate import in_place_sentence, in_place_table, sentence, table

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/explanation/calibration.md"


@pytest.fixture(scope="module")
def found():
    return json.loads((ROOT / "benchmarks/results/calibrate.json").read_text())


def test_the_table_is_that_of_the_file(found):
    assert table(found) in PAGE.read_text()


def test_the_calibrated_set_is_as_good_as_that_of_the_truth(found):
    """Core of δp/p within 2 %, widths of the pulls within 3 %."""
    truth, calibrated = found["sets"]["truth"], found["sets"]["calibrated"]
    for name, bar in (("δp/p", 0.02), *((f"pull of {one}", 0.03) for one in ("x", "y", "tx", "ty", "qop"))):
        ratio = calibrated[name]["width"] / truth[name]["width"]
        assert abs(ratio - 1) < bar, name


def test_scale_and_shifts_are_found(found):
    field = found["field"]
    assert abs(field["scale"] - field["truth"]) < max(2e-4, field["error"])
    assert found["alignment"]["groups"]["all"]["within_3"] >= 0.95


def test_changes_become_smaller_and_the_page_says_how_the_loop_went(found):
    first, *_, last = (one["change_in_errors"] for one in found["rounds"])
    assert last["alignment"] < 1
    assert last["field"] < 1
    assert all(last[kind] < 0.5 * first[kind] for kind in first)
    assert sentence(found) in PAGE.read_text()


def test_factors_in_place_are_those_of_the_file(found):
    page = PAGE.read_text()
    assert in_place_table(found["in_place"]) in page
    assert in_place_sentence(found["in_place"]) in " ".join(page.split())
