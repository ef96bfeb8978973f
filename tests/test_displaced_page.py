"""The page on displaced tracks shows the benchmark's figures, and what it says of them holds."""

import json
from pathlib import Path

import pytest
from benchmarks.displaced import table

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def bins():
    return json.loads((ROOT / "benchmarks/results/displaced.json").read_text())["bins"]


def test_the_table_is_that_of_the_file(bins):
    assert table(bins) in (ROOT / "docs/explanation/soft_and_displaced.md").read_text()


def test_the_bias_is_flat_and_pulls_are_right_when_the_origin_is_told(bins):
    for one in (one for of_variable in bins.values() for one in of_variable):
        assert abs(one["bias"]) <= 0.0002 + 3 * one["bias_error"]
        for told in (one[component]["told"] for component in ("tx", "ty")):
            assert 0.95 - 2 * told["width_error"] < told["width"] < 1.05 + 2 * told["width_error"]
