"""The page on resolution shows the benchmark's figures on tails, and what it says of them holds."""

import json
from pathlib import Path

import pytest
from benchmarks.tails import REGIONS, table

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def found():
    return json.loads((ROOT / "benchmarks/results/tails.json").read_text())


def test_the_table_is_that_of_the_file(found):
    assert table(found) in (ROOT / "docs/explanation/resolution.md").read_text()


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("way", ["matched", "found"])
@pytest.mark.parametrize("limit", ["beyond3", "beyond5"])
def test_tails_of_both_simulations_agree(found, way, region, limit):
    lhcb, embedded = (found[sample][way]["full"][region] for sample in ("lhcb", "embedded"))
    error = (lhcb[f"{limit}_error"] ** 2 + embedded[f"{limit}_error"] ** 2) ** 0.5
    assert abs(lhcb[limit] - embedded[limit]) < 2 * error
