"""The page on LHCb's hits shows the benchmark's figures, and what it says of them holds."""

import json
from math import hypot
from pathlib import Path

import pytest
from benchmarks.lhcb_hits import P_BINS, table

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def figures():
    return json.loads((ROOT / "benchmarks/results/lhcb_hits.json").read_text())


def differ(one, other):
    """Difference of two figures in their errors."""
    return abs(one[0] - other[0]) / hypot(one[1], other[1])


def test_the_table_is_that_of_the_file(figures):
    assert table(figures) in (ROOT / "docs/explanation/lhcb_hits.md").read_text()


def test_the_page_of_limits_has_the_same_figures(figures):
    page = (ROOT / "docs/explanation/limits.md").read_text()
    told = [
        f"{value:.2f} ± {error:.2f}"
        for name in ("parkf", "parkf_robust")
        for sample in ("lhcb", "embedded")
        for value, error in [figures[sample]["pulls"][name][1]]
    ]
    value, error = (100 * number for number in figures["lhcb"]["bias"])
    for text in (*told, f"{value:.3f} ± {error:.3f} %"):
        assert text in page


def test_both_simulations_agree_where_the_page_says_so(figures):
    embedded, lhcb = figures["embedded"], figures["lhcb"]
    for fit in ("parkf", "parkf_robust", "full"):
        assert differ(embedded["pulls"][fit][1], lhcb["pulls"][fit][1]) < 2
    for name in ("ghosts", "kept", "cut", *(f"efficiency_p_{place}" for place in P_BINS)):
        assert differ(embedded["found"][name], lhcb["found"][name]) < 2
    assert round(differ(embedded["core"], lhcb["core"]), 1) == 2.4
