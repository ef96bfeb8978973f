"""The pages on kinds of tracks show the benchmark's figures, and what they say of them holds."""

import json
from pathlib import Path

import pytest
from benchmarks.kinds import decays, lhcb_table, searches, table

from parkf.io.kinds import KINDS

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def figures():
    return json.loads((ROOT / "benchmarks/results/kinds.json").read_text())


@pytest.fixture(scope="module")
def page():
    return (ROOT / "docs/explanation/kinds_figures.md").read_text()


def test_the_tables_are_those_of_the_file(figures, page):
    assert table(figures) in page
    assert decays(figures) in page
    assert searches(figures) in page
    assert lhcb_table(figures["lhcb"]) in page


def test_every_kind_is_explained():
    page = (ROOT / "docs/explanation/kinds.md").read_text()
    for kind in KINDS.values():
        if kind.name != "long":
            assert f"| `{kind.name}` |" in page


def test_the_sentences_hold(figures, page):
    hard = [one for one in figures["kinds"]["downstream"]["momentum"] if one["p_min"] >= 3]
    for one in hard:
        assert one["core_over_full"] - one["core_over_full_error"] < 1.03
        assert abs(one["bias"]) - 3 * one["bias_error"] < 1e-3
        for pull in one["pulls"].values():
            assert 0.9 - 3 * pull["width_error"] < pull["width"] < 1.1 + 3 * pull["width_error"]
    of = figures["kinds"]["downstream"]["decays"]
    for name in ("ks", "lambda"):
        assert of[name]["width_over_full"] - of[name]["width_over_full_error"] < 1.03
        assert of[name]["seed_over_width"] > 1.25
        assert 0.9 < of[name]["vertex"]["pull_width"] < 1.1
    assert f"{-of['ks']['mean']:.1f} MeV too low" in page
    assert 0.8 < figures["lhcb"]["chi2_median"]["matched"] < 1.25
