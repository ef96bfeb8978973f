"""Curves and points of the report's figures are where their meaning has them."""

import numpy as np
import pytest

from parkf.report.figures import COMPONENTS, impact, pulls


def test_the_unit_gaussian_has_as_much_in_all_bins_as_the_pulls():
    edges = np.linspace(-5.0, 5.0, 41)
    histogram = {"edges": edges.tolist(), "content": np.full(40, 1 / 40).tolist()}
    fit = {"histograms": {"pulls": dict.fromkeys(COMPONENTS, histogram)}}
    for panel in pulls({"parkf": fit}).panels:
        gaussian = panel.series[-1]
        in_bins = np.trapezoid(gaussian.y, gaussian.x) / (edges[1] - edges[0])
        assert in_bins == pytest.approx(1.0, abs=1e-3)
        assert gaussian.x[np.argmax(gaussian.y)] == pytest.approx(0.0, abs=0.1)


def test_impact_parameters_are_drawn_in_the_middle_of_their_bins_in_micrometres():
    numbers = {"x": 0.02, "y": 0.03, "pull_x": 1.1, "pull_y": 0.9}
    one = {"low": 0.5, "high": 1.5, **numbers, **{f"{name}_error": 0.001 for name in numbers}}
    drawn = impact({"parkf": {"impact": [one]}}).panels
    assert [(list(p.series[0].x), list(p.series[0].y)) for p in drawn] == [
        ([1.0], [20.0]),
        ([1.0], [30.0]),
        ([1.0], [1.1]),
        ([1.0], [0.9]),
    ]
