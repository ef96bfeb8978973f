"""The page on states inside the magnet shows the benchmark's figures, and what it says of them holds."""

import json
from pathlib import Path

import pytest
from benchmarks.slices import table

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def figures():
    return json.loads((ROOT / "benchmarks/results/slices.json").read_text())


@pytest.fixture(scope="module")
def page():
    return (ROOT / "docs/explanation/inside_the_magnet.md").read_text()


def test_the_table_is_that_of_the_file(figures, page):
    assert table(figures) in page


def test_the_sentences_hold(figures, page):
    rows = [one for one in figures["states"] if one["component"] == "x" and one["p_min"] >= 3]
    assert all(one["q68"] < one["sigma"] / 10 for one in rows)
    assert all(one["q99"] < one["sigma"] for one in rows if one["p_min"] >= 5 or one["z"] >= 5000)
    domain, jacobian = figures["domain"], figures["jacobian"]
    assert f"68 % of |δx| is {1000 * domain['q68']:.1f} µm and 99 % {domain['q99']:.2f} mm" in page
    widths = [one["width"] for one in figures["pulls"] if one["p_min"] >= 3]
    assert f"widths of {min(widths):.3f} to {max(widths):.3f} from 3 GeV" in page
    assert jacobian["q95"] < 0.05
    assert f"by {100 * jacobian['median']:.2f} % for half of the tracks" in page
