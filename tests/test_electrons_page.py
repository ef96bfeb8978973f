"""The page on electrons shows the benchmark's figures, and what it says of them holds."""

import json
from pathlib import Path

import pytest
from benchmarks.electrons import cells, peaks, table

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def found():
    return json.loads((ROOT / "benchmarks/results/electrons.json").read_text())


@pytest.fixture(scope="module")
def page():
    return (ROOT / "docs/explanation/electrons.md").read_text()


def test_the_tables_are_those_of_the_file(found, page):
    for write in (table, peaks, cells):
        assert write(found["fits"]) in page


def test_the_peak_is_where_it_should_be(found):
    fits = found["fits"]
    for one in (fits["uniform"], *fits["tracks"].values()):
        assert abs(one["most_probable"]) < 0.005
    for one in fits["uniform"]["cells"]:
        assert abs(one["most_probable"]) < 0.005 + 2 * one["most_probable_error"]


def test_the_intervals_are_as_told(found, page):
    fits, text = found["fits"], " ".join(page.split())
    of = {"uniform": fits["uniform"], **fits["tracks"]}
    for name in ("uniform", "jpsi-ee", "gamma-ee"):
        assert of[name]["width68_over_pion"] <= 0.9
    collisions = of["collisions"]["width68_over_pion"], of["collisions"]["width68_over_pion_error"]
    assert f"{collisions[0]:.3f} ± {collisions[1]:.3f}" in text
    assert f"{100 * of['uniform']['pion_inside']:.0f} % of the electrons with uniform ln p" in text
    assert f"{100 * of['collisions']['inside']:.1f} ± {100 * of['collisions']['inside_error']:.1f} %" in text
    assert f"{100 * fits['uniform']['closure']['largest']:.1f} %" in text


def test_what_lhcbs_electrons_say(found, page):
    one, text = found["lhcb"]["fit"], " ".join(page.split())
    for name, digits in (("inside", 0), ("most_probable", 1)):
        value, error = (100 * one[name + what] for what in ("", "_error"))
        assert f"{value:.{digits}f} ± {error:.{digits}f} %".replace("-", "−") in text
    assert f"{one['n']} electrons" in text
