"""The page of the closure shows all cells, the worst first."""

from parkf.report.closure_page import closure_page
from parkf.report.site import write_page


def cell(p_min, p_max, eta, bias, error=1e-4):
    edges = {"p_min": p_min, "p_max": p_max, "eta_min": eta, "eta_max": eta + 0.5}
    return {**edges, "phi_min": 0.0, "phi_max": 0.39, "bias": bias, "bias_error": error, "n": 70}


def summary():
    before = [cell(3.0, 5.0, 2.0, 4e-3), cell(3.0, 5.0, 3.0, -1e-4), cell(5.0, 10.0, 2.0, 5e-3, error=3e-3)]
    after = [{**row, "bias": 0.1 * row["bias"]} for row in before]
    return {
        "tracks": 12345,
        "stages": [{"name": "before", "cells": before}, {"name": "pass 1", "cells": after}],
        "changes": [{"terms": 252, "rms": 4e-4, "q95": 9e-4, "error_rms": 6e-5}],
        "response": {"p": [2000.0, 9000.0], "gain": [0.9, 0.95], "share": [[0.1] * 12, [0.2] * 12]},
    }


def test_the_worst_cell_is_known_well():
    page = closure_page(summary())
    (title, worst), _ = page["worst"]
    assert title == "before"
    # A larger bias with an error as large comes later.
    assert worst.rows[0] == ["3–5", "2–2.5", "0.00–0.39", "+0.400 ± 0.010", "70"]
    assert page["by_momentum"].rows[0] == ["3–5", "before", "+0.195", "0.205", "0.400"]
    assert page["changes"].rows == [["1", "252", "0.0400", "0.0900", "0.0060"]]


def test_a_page_is_written(tmp_path):
    write_page(tmp_path / "closure.html", "closure.html", **closure_page(summary()))
    text = (tmp_path / "closure.html").read_text()
    assert text.count('class="maps"') == 2
    assert "12,345 simulated tracks" in text
