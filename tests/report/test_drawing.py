"""Figures are drawn from numbers: marks lie where the numbers are, and the CSV file has the same numbers."""

import csv
import io
import json
import re
from xml.etree import ElementTree

import pytest

from parkf.report.drawing import COLOURS, Drawn, Panel, Series
from parkf.report.maps import ratio_map, table_maps
from parkf.report.picture import Captions

EMPTY = Panel("x", "y", [Series("nothing", [], [])])


def points(svg):
    return [tuple(map(float, pair)) for pair in re.findall(r'class="m" d="M([\d.-]+) ([\d.-]+)m', svg)]


def drawn(*series, **options):
    return Drawn("name", "A title", [Panel("x [mm]", "y", series, **options)])


def test_points_lie_where_their_numbers_are():
    one = drawn(Series("a", [0.0, 5.0, 10.0], [0.0, 1.0, 2.0]), x_limits=(0.0, 10.0), y_limits=(0.0, 2.0))
    (left, low), (middle, half), (right, high) = points(one.svgs[0])
    assert middle == pytest.approx((left + right) / 2)
    assert half == pytest.approx((low + high) / 2)
    assert low > high, "SVG counts down the page"


def test_an_axis_that_begins_above_all_values_still_ascends():
    one = drawn(Series("a", [0.0, 1.0], [0.0, 1.0]), y_limits=(5.0, None))
    places = [float(y) for y in re.findall(r'class="grid" d="M[\d.]+ ([\d.]+)H', one.svgs[0])]
    assert len(places) >= 2
    assert places == sorted(places, reverse=True)


def test_equal_ratios_are_equal_distances_on_a_logarithmic_axis():
    one = drawn(Series("a", [1.0, 10.0, 100.0], [1.0] * 3), x_log=True)
    places = [x for x, _ in points(one.svgs[0])]
    assert places[1] - places[0] == pytest.approx(places[2] - places[1], abs=0.2)


def test_values_that_are_not_numbers_are_left_out():
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
    rows = list(csv.DictReader(io.StringIO(one.picture.csv)))
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
    root = ElementTree.fromstring(Drawn("n", "t & u", [panel]).picture.standalone(".c0 { color: red }"))
    assert root.tag.endswith("svg")
    for svg in Drawn("n", "t", [panel]).svgs:
        assert ElementTree.fromstring(svg).get("aria-label")


def test_numbers_are_those_that_are_drawn():
    edges = [0.0, 1.0, 3.0]
    one = drawn(
        Series("a", edges, [4.0, float("nan")], shape="steps", filled=True),
        Series("b", edges, [5.12345, 6.0], shape="steps", dashed=True, colour=COLOURS + 1),
        Series("c", [1.0], [2.0], [0.1], [(0.5, 2.0)]),
        x_log=True,
        y_limits=(0.0, None),
    )
    (panel,) = json.loads(json.dumps(one.numbers, allow_nan=False))
    assert (panel["logs"], panel["limits"]) == ([True, False], [[None, None], [0.0, None]])
    first, second, third = panel["series"]
    assert first == {"name": "a", "shape": "steps", "colour": 0, "x": edges, "y": [4.0, None], "filled": True}
    # The same edges are written only once.
    assert second == {"name": "b", "shape": "steps", "colour": 1, "y": [5.123, 6.0], "dashed": True}
    assert (third["x"], third["error"], third["reach"]) == ([1.0], [0.1], [[0.5, 2.0]])


def test_a_map_of_the_table_shows_each_cell_over_the_median():
    square = [[1e-3, 1e-3, 8e-3], [1e-3, None, 2e-3]]
    cells = [
        {"p_min": low, "p_max": 2 * low, "component": component, "q68": square}
        for low in (5.0, 10.0)
        for component in ("x", "tx")
    ]
    maps = table_maps({"x": [-30.0, -10.0, 10.0, 30.0], "y": [-20.0, 0.0, 20.0], "cells": cells})
    assert list(maps) == ["5–10 GeV", "10–20 GeV"]
    one = maps["5–10 GeV"]
    assert one.groups == [("x [µm]", 3), ("tx [µrad]", 3)]
    assert list(one.rows) == ["10", "−10"], "up is up"
    upper, lower = one.rows.values()
    assert [spot and (spot.text, spot.style) for spot in upper[:3]] == [("1", "p0"), None, ("2", "p2")]
    assert [spot.value for spot in lower[:3]] == pytest.approx([0.0, 0.0, 1.0])
    picture = one.picture("table-1", "Misfit", "Good: pale.")
    root = ElementTree.fromstring(picture.standalone(".mid { text-anchor: middle }"))
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert texts.count("8") == 1 + 1  # the cell, and the end of the colour bar
    assert "8000" in texts, "µrad"
    rows = [*csv.reader(io.StringIO(picture.csv))]
    assert rows[0] == ["y, x [mm]", "group", "column", "misfit over the map's median"]
    assert ["−10", "x [µm]", "20", "8"] in rows
    assert len(rows) == 1 + 2 * 5


@pytest.mark.parametrize(("component", "text"), [("x", "2"), ("y", "2"), ("tx", "2000"), ("ty", "2000")])
def test_misfits_of_the_table_are_in_micrometres_and_microradians(component, text):
    cell = {"p_min": 5.0, "p_max": 10.0, "component": component, "q68": [[2e-3]]}
    (one,) = table_maps({"x": [0.0, 20.0], "y": [0.0, 20.0], "cells": [cell]}).values()
    assert [spot.text for row in one.rows.values() for spot in row] == [text]


def test_a_misfit_has_the_strongest_colour_at_three_times_the_scattering():
    sizes = {0.05: 0.0, 0.1: 0.0, 0.3**0.5: 0.5, 3.0: 1.0}
    drawn = ratio_map({(f"{size:g}", "x", 5.0, 10.0): size for size in sizes})
    found = [row[0].value for row in drawn.rows.values()]
    assert found == pytest.approx(list(sizes.values()), abs=1e-9)


@pytest.mark.parametrize("high", [30.0, 3000.0])
def test_a_logarithmic_axis_has_ticks_within_its_ends(high):
    one = drawn(Series("a", [2.0, high], [1.0, 1.0]), x_log=True, x_limits=(2.0, high))
    places = [float(x) for x in re.findall(r'class="axis" d="M([\d.-]+) [\d.]+v3"', one.svgs[0])]
    left, right = map(float, re.search(r'class="axis" d="M([\d.]+) \S+H([\d.]+)"', one.svgs[0]).groups())
    assert len(places) >= 3
    assert all(left <= place <= right for place in places)


def test_captions_are_the_texts_of_the_figure(tmp_path):
    figure = Drawn("a", "|δx| & p_true", [EMPTY], see="See *this*.", good="Good: < 1.")
    (tmp_path / "page-a.svg").write_text(figure.picture.standalone(""))
    (tmp_path / "page-b.svg").write_text("<svg/>")
    words = Captions(tmp_path)
    # In reStructuredText a vertical bar begins a substitution, and stars and underscores are markup.
    assert words["page-a"] == r"**\|δx\| & p\_true.** See \*this\*. Good: < 1."
    assert words["page-b"] == ""


def test_each_series_is_once_in_the_legend():
    both = Drawn(
        "n", "t", [Panel("x", "y", [Series("a", [1], [1])]), Panel("x", "z", [Series("a", [1], [2])])]
    )
    assert both.legend == [("a", 0, False)]


def test_points_have_the_names_of_their_own_positions():
    """Sets of one kind may be the first and the third of all; a point beside its position has its name."""
    one = drawn(Series("a", [0.0, 2.06], [1.0, 2.0]), names=["r1", "r2", "r3"])
    assert re.findall("<title>(.*?)</title>", one.svgs[0]) == ["a, r1: 1", "a, r3: 2"]
    assert [row["x_value"] for row in csv.DictReader(io.StringIO(one.picture.csv))] == ["r1", "r3"]


def test_a_band_is_inside_its_axis():
    """Numbers below a band do not cut it off."""
    one = drawn(Series("a", [0.0, 1.0], [0.8, 0.9]), band=(0.95, 1.05))
    top, high = map(
        float, re.search(r'class="band" .*? y="([\d.]+)" .*? height="([\d.]+)"', one.svgs[0]).groups()
    )
    assert top > 24, "the axis ends above the band"
    assert high > 10
