"""Figures are drawn from numbers: Plotly gets each number, in its panel and in its style."""

import json

import numpy as np

from parkf.report.drawing import COLOURS, Drawn, Panel, Series


def plotted(*series, **options):
    """Return the series and the layout that Plotly gets, after their way through JSON."""
    drawn = Drawn("name", "A title", [Panel("x [mm]", "y", series, **options)])
    plot = json.loads(json.dumps(drawn.plot, allow_nan=False))
    return plot["data"], plot["layout"]


def test_values_that_are_not_numbers_are_left_out():
    (one,), _ = plotted(Series("a", [0.0, 1.0, 2.0], [1.0, None, float("nan")], shape="joined"))
    assert (one["x"], one["y"]) == ([0.0, 1.0, 2.0], [1.0, None, None])
    assert one["mode"] == "lines+markers"


def test_series_differ_in_colour_and_marker():
    data, _ = plotted(*(Series(f"{n}", [1.0], [1.0], colour=n) for n in range(COLOURS + 1)))
    assert len({one["marker"]["color"] for one in data}) == COLOURS
    assert len({one["marker"]["symbol"] for one in data}) == COLOURS
    assert data[0]["marker"] == data[-1]["marker"]


def test_colours_are_seen_on_a_light_and_on_a_dark_page():
    """A line has at least the contrast of 3 that WCAG 2.2 asks for, on #fff and on #14171b."""
    data, _ = plotted(*(Series(f"{n}", [1.0], [1.0], colour=n) for n in range(COLOURS)))
    for one in data:
        parts = np.array([int(one["marker"]["color"][i : i + 2], 16) / 255 for i in (1, 3, 5)])
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        luminance = linear @ [0.2126, 0.7152, 0.0722]
        assert 1.05 / (luminance + 0.05) >= 3
        assert (luminance + 0.05) / (0.0085 + 0.05) >= 3


def test_points_have_the_names_of_their_own_positions():
    """Sets of one kind may be the first and the third of all; a point beside its position has its name."""
    (one,), layout = plotted(Series("a", [0.0, 2.06], [1.0, 2.0]), names=["r1", "r2", "r3"])
    assert one["text"] == ["r1", "r3"]
    assert (layout["xaxis"]["tickvals"], layout["xaxis"]["ticktext"]) == ([0, 1, 2], ["r1", "r2", "r3"])


def test_each_panel_has_axes_of_its_own_and_a_name_is_once_in_the_legend():
    panels = [
        Panel("x", "y", [Series("a", [1], [1]), Series("b", [1], [1])]),
        Panel("x", "z", [Series("a", [1], [2]), Series("b", [1], [1])], band=(0.95, 1.05), levels=(1.0,)),
        Panel("x", "w", [Series("alone", [1], [3])]),
    ]
    plot = Drawn("n", "t", panels).plot
    assert [one["yaxis"] for one in plot["data"]] == ["y", "y", "y2", "y2", "y3"]
    assert [one["showlegend"] for one in plot["data"]] == [True, True, False, False, False]
    headings = {one["yref"]: one["text"] for one in plot["layout"]["annotations"]}
    assert headings == {"y domain": "y", "y2 domain": "z", "y3 domain": "w"}
    assert {shape["yref"] for shape in plot["layout"]["shapes"]} == {"y2"}
    assert [(shape["y0"], shape["y1"]) for shape in plot["layout"]["shapes"]] == [(0.95, 1.05), (1.0, 1.0)]
