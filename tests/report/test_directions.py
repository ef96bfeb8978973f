"""The worst cells come first, and maps show every cell."""

import numpy as np

from parkf.report.directions import WORST, bias_maps, worst
from parkf.report.maps import bias_map


def cell(**changed):
    content = {"eta_min": 2.0, "eta_max": 2.5, "phi_min": -np.pi / 8, "phi_max": np.pi / 8, "charge": 1}
    content |= {"p_min": 3.0, "p_max": 5.0, "n": 100, "bias": 0.0, "bias_error": 1e-4}
    content |= {"pull_width": 1.0, "pull_width_error": 0.1, "tx_mean": 0.0, "tx_mean_error": 0.1}
    return content | {"ty_mean": 0.0, "ty_mean_error": 0.1} | changed


def test_the_worst_cells_are_those_of_the_most_significant_bias():
    cells = [cell(p_min=float(i)) for i in range(20)]
    cells += [cell(bias=0.01, bias_error=0.01), cell(bias=-0.002, charge=-1), cell(bias=0.001)]
    rows = worst(cells).rows
    assert len(rows) == WORST
    assert [row[5] for row in rows[:2]] == ["-0.200 ± 0.010", "+0.100 ± 0.010"]
    assert rows[0][:4] == ["2–2.5", "-22.5 to 22.5", "−", "3–5"]
    # This bias is large, but its error is as large as itself.
    assert not any("+1.000" in row[5] for row in rows)


def test_a_cell_is_worse_by_what_its_bias_exceeds_three_errors():
    """They exceed three errors by 7, 8, and -2 of a thousand."""
    cells = [cell(bias=0.010, bias_error=0.001), cell(bias=-0.020, bias_error=0.004)]
    cells += [cell(bias=0.013, bias_error=0.005)]
    assert [row[5].split()[0] for row in worst(cells).rows] == ["-2.000", "+1.000", "+1.300"]


def test_numbers_of_a_map_are_emphasised_beyond_three_errors():
    """Of biases of 2.9 and 3.1 errors, those beyond three are sure."""
    sure = {}
    for errors in (2.9, 3.1, -2.9, -3.1):
        (row,) = bias_maps([cell(bias=errors * 1e-3, bias_error=1e-3)])["positive"].rows.values()
        sure[errors] = row[0].sure
    assert sure == {2.9: False, 3.1: True, -2.9: False, -3.1: True}


def test_a_map_for_each_charge_with_every_bias():
    cells = [cell(bias=0.0012), cell(bias=-0.0034, charge=-1), cell(bias=0.002, p_min=5.0, p_max=10.0)]
    maps = bias_maps(cells)
    assert list(maps) == ["positive", "negative"]
    (row,) = maps["positive"].rows.values()
    assert [spot.text for spot in row] == ["+0.12", "+0.20"]
    assert [text for text, _ in maps["positive"].columns] == ["3–5 GeV", "5–10 GeV"]
    assert list(bias_maps(cells[:1])) == ["positive"]
    assert bias_maps([]) == {}


def test_the_map_of_planes_has_one_column_for_each():
    own = {"phi_min", "phi_max", "charge"}
    cells = [
        {k: v for k, v in cell(plane=plane, bias=bias).items() if k not in own}
        for plane, bias in (("vertical", -0.001), ("horizontal", 0.001))
    ]
    drawn = bias_map(cells, "bias of δp/p", span=0.4)
    assert [name for _, name in drawn.columns] == ["hori.", "vert."]
    (row,) = drawn.rows.values()
    assert [spot.text for spot in row] == ["+0.10", "-0.10"]
