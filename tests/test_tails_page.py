"""The page on resolution shows the benchmark's figures on tails, and what it says of them holds."""

import json
from pathlib import Path

import pytest
from benchmarks.tails import REGIONS, table, table_of_set

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def found():
    return json.loads((ROOT / "benchmarks/results/tails.json").read_text())


def test_the_table_is_that_of_the_file(found):
    page = (ROOT / "docs/explanation/resolution.md").read_text()
    assert table(found) in page
    assert table_of_set(found) in page


@pytest.mark.parametrize("way", ["matched", "found"])
def test_the_robust_fit_leaves_one_per_cent_beyond_five_errors(found, way):
    robust = found["set"][way]["robust"]
    assert robust["beyond5"] - robust["beyond5_error"] < 0.01


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("way", ["matched", "found"])
@pytest.mark.parametrize("limit", ["beyond3", "beyond5"])
def test_tails_of_both_simulations_agree(found, way, region, limit):
    lhcb, embedded = (found[sample][way][region] for sample in ("lhcb", "embedded"))
    error = (lhcb[f"{limit}_error"] ** 2 + embedded[f"{limit}_error"] ** 2) ** 0.5
    assert abs(lhcb[limit] - embedded[limit]) < 2 * error
