"""Maps show every cell, the stronger the worse."""

import numpy as np
import pytest

from parkf.report.maps import bias_maps, maps_by_charge, ratio_maps, table_maps
from parkf.report.tables import shade


def cell(**changed):
    content = {"eta_min": 2.0, "eta_max": 2.5, "phi_min": -np.pi / 8, "phi_max": np.pi / 8, "charge": 1}
    content |= {"p_min": 3.0, "p_max": 5.0, "n": 100, "bias": 0.0, "bias_error": 1e-4}
    return content | changed


def test_colours_are_red_above_blue_below_and_at_most_full():
    red = '<data value="0.2034" data-error="0.01" class="high" style="--shade:50%">+0.2</data>'
    assert shade("+0.2", 0.5, 0.2034, 0.01) == red
    assert 'class="low sure" style="--shade:100%">&lt;<' in shade("<", -7.0, -1.0, sure=True)


def test_a_map_of_the_table_shows_each_cell_over_the_median():
    square = [[1e-3, 1e-3, 8e-3], [1e-3, None, 2e-3]]
    cells = [
        {"p_min": low, "p_max": 2 * low, "component": component, "q68": square}
        for low in (5.0, 10.0)
        for component in ("x", "tx")
    ]
    maps = table_maps({"x": [-30.0, -10.0, 10.0, 30.0], "y": [-20.0, 0.0, 20.0], "cells": cells})
    assert list(maps) == ["5–10 GeV", "10–20 GeV"]
    assert list(maps["5–10 GeV"]) == ["x [µm]", "tx [µrad]"]
    one = maps["5–10 GeV"]["x [µm]"]
    assert one.head == ["y, x [mm]", "−20", "0", "20"]
    assert one.rows == [
        ["10", shade("1", 0.0, 1), "", shade("2", 1 / 3, 2)],
        ["−10", shade("1", 0.0, 1), shade("1", 0.0, 1), shade("8", 1.0, 8)],
    ], "up is up"


@pytest.mark.parametrize(("component", "text"), [("x", "2"), ("y", "2"), ("tx", "2000"), ("ty", "2000")])
def test_misfits_of_the_table_are_in_micrometres_and_microradians(component, text):
    one = {"p_min": 5.0, "p_max": 10.0, "component": component, "q68": [[2e-3]]}
    ((shown,),) = (
        maps.values() for maps in table_maps({"x": [0.0, 20.0], "y": [0.0, 20.0], "cells": [one]}).values()
    )
    assert shown.rows == [["10", shade(text, 0.0, float(text))]]


def test_a_misfit_has_the_strongest_colour_at_three_times_the_scattering():
    sizes = {0.05: 0.0, 0.1: 0.0, 0.3**0.5: 0.5, 3.0: 1.0}
    maps = ratio_maps({(f"{size:g}", "x", 5.0, 10.0): (size, None) for size in sizes})
    assert [row[1] for row in maps["x"].rows] == [
        shade(f"{size:.2g}", value, size) for size, value in sizes.items()
    ]


@pytest.mark.parametrize(("errors", "sure"), [(2.9, False), (3.1, True), (-2.9, False), (-3.1, True)])
def test_numbers_of_a_map_are_emphasised_beyond_three_errors(errors, sure):
    maps = maps_by_charge([cell(bias=errors * 1e-3, bias_error=1e-3)])
    ((_, shown),) = maps["positive"]["3–5 GeV"].rows
    assert ("sure" in shown) == sure


def test_a_map_for_each_charge_with_every_bias():
    cells = [cell(bias=0.0012), cell(bias=-0.0034, charge=-1), cell(bias=0.002, p_min=5.0, p_max=10.0)]
    maps = maps_by_charge(cells)
    assert list(maps) == ["positive", "negative"]
    shown = {momentum: one.rows for momentum, one in maps["positive"].items()}
    assert shown == {
        "3–5 GeV": [["2–2.5", shade("+0.12", 0.3, 0.12, 0.01, sure=True)]],
        "5–10 GeV": [["2–2.5", shade("+0.20", 0.5, 0.2, 0.01, sure=True)]],
    }
    assert list(maps_by_charge(cells[:1])) == ["positive"]
    assert maps_by_charge([]) == {}


def test_the_map_of_planes_has_one_column_for_each():
    own = {"phi_min", "phi_max", "charge"}
    cells = [
        {k: v for k, v in cell(plane=plane, bias=bias).items() if k not in own}
        for plane, bias in (("vertical", -0.001), ("horizontal", 0.001))
    ]
    (one,) = bias_maps(cells, span=0.4).values()
    assert one.head == ["η, φ", "hori.", "vert."]
    assert one.rows == [["2–2.5", shade("+0.10", 0.25, 0.1, 0.01), shade("-0.10", -0.25, -0.1, 0.01)]]
