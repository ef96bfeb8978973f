"""Figures drawn from numbers: what lies where, and the same numbers as CSV."""

import csv
import io
import re
from xml.etree import ElementTree

import pytest

from parkf.report.drawing import Drawn, Panel, Series

EMPTY = Panel("x", "y", [Series("nothing", [], [])])


def points(svg):
    return [tuple(map(float, pair)) for pair in re.findall(r'class="m" d="M([\d.-]+) ([\d.-]+)m', svg)]


def drawn(*series, **options):
    return Drawn("name", "A title", [Panel("x [mm]", "y", series, **options)])


def test_points_lie_where_their_numbers_say():
    one = drawn(Series("a", [0.0, 5.0, 10.0], [0.0, 1.0, 2.0]), x_limits=(0.0, 10.0), y_limits=(0.0, 2.0))
    (left, low), (middle, half), (right, high) = points(one.svgs[0])
    assert middle == pytest.approx((left + right) / 2)
    assert half == pytest.approx((low + high) / 2)
    assert low > high, "SVG counts down the page"


def test_equal_ratios_are_equal_distances_on_a_logarithmic_axis():
    one = drawn(Series("a", [1.0, 10.0, 100.0], [1.0] * 3), x_log=True)
    places = [x for x, _ in points(one.svgs[0])]
    assert places[1] - places[0] == pytest.approx(places[2] - places[1], abs=0.2)


def test_what_is_no_number_is_left_out():
    one = drawn(Series("a", [0.0, 1.0, 2.0], [1.0, None, float("nan")], shape="joined"))
    assert len(points(one.svgs[0])) == 1
    gap = drawn(Series("a", [0.0, 1.0, 2.0, 3.0], [1.0, None, 2.0], shape="steps"))
    path = re.search(r'data-s="a"><path d="([^"]+)"', gap.svgs[0])[1]
    assert path.count("M") == 2


def test_csv_has_every_number_with_its_error_and_its_bin():
    one = drawn(
        Series("points", [1.5], [0.25], [0.01], [(1.0, 2.0)]),
        Series("steps", [0.0, 1.0, 3.0], [4.0, 5.0], shape="steps"),
    )
    rows = list(csv.DictReader(io.StringIO(one.csv)))
    assert [row["series"] for row in rows] == ["points", "steps", "steps"]
    assert (rows[0]["x_low"], rows[0]["x_high"], rows[0]["y_error"]) == ("1", "2", "0.01")
    assert (rows[2]["x_value"], rows[2]["y_value"]) == ("2", "5")


@pytest.mark.parametrize(
    "panel",
    [
        EMPTY,
        Panel("", "share", [Series("<&>", [0, 1], [0.1, 0.2])], names=["a<b", "c"], band=(0.1, 0.15)),
        Panel(
            "p [GeV]", "q", [Series("a", [2.0, 50.0], [1e-5, 2e-5])], x_log=True, y_log=True, levels=(1e-5,)
        ),
    ],
)
def test_files_of_their_own_are_sound_xml(panel):
    root = ElementTree.fromstring(Drawn("n", "t & u", [panel]).standalone(".c0 { color: red }"))
    assert root.tag.endswith("svg")
    for svg in Drawn("n", "t", [panel]).svgs:
        assert ElementTree.fromstring(svg).get("aria-label")


def test_each_series_is_once_in_the_legend():
    both = Drawn(
        "n", "t", [Panel("x", "y", [Series("a", [1], [1])]), Panel("x", "z", [Series("a", [1], [2])])]
    )
    assert both.legend == [("a", 0, False)]
