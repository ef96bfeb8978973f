"""Two fits compared: ratios and differences of figures of the same tracks."""

import numpy as np
import pytest

from parkf.proof.validation.figures import compare_momenta, displacement


def _compared(seed, own, count=2000, common=0.004):
    """Two fits. Their residuals share a part, and each fit adds an independent part of width `own`."""
    random = np.random.default_rng(seed)
    shared, event = random.normal(0, common, count), random.integers(0, 300, count)
    one, other = (shared + random.normal(0, width, count) for width in own)
    return compare_momenta(one, other, event, "full")


def test_a_line_passes_the_axis_at_the_distance_that_a_ruler_measures():
    """Lines along (3, 4) and (0, 1) across the beam, through (1, 2) and (5, 7): 0.4 and 5 from the axis."""
    rows = {"true_x": [1.0, 5.0], "true_y": [2.0, 7.0], "true_tx": [0.3, 0.0], "true_ty": [0.4, 0.1]}
    assert displacement({name: np.array(values) for name, values in rows.items()}) == pytest.approx([0.4, 5])


def test_a_fit_beside_itself_has_ratio_one_and_no_difference_without_an_error():
    found = _compared(1, (0.0, 0.0))
    ratios = {f"{name}_over_full": 1.0 for name in ("core", "width68", "width95")}
    expected = ratios | {"bias_minus_full": 0.0}
    assert found == expected | {f"{name}_error": 0.0 for name in expected}


def test_figures_and_errors_are_right_on_toys_and_what_both_share_makes_errors_smaller():
    """Widths of 0.005 and 0.0042 have a ratio of 1.19; over 200 toys, pulls have mean 0 and width 1."""
    ratio = np.hypot(0.004, 0.003) / np.hypot(0.004, 0.0013)
    found = [_compared(seed, (0.003, 0.0013)) for seed in range(200)]
    alike = [_compared(seed, (0.0003, 0.0003)) for seed in range(5)]
    for name in ("core_over_full", "width68_over_full", "width95_over_full", "bias_minus_full"):
        expected = 0.0 if name == "bias_minus_full" else ratio
        pulls = [(one[name] - expected) / one[f"{name}_error"] for one in found]
        assert abs(np.mean(pulls)) < 0.3, name
        assert 0.85 < np.std(pulls) < 1.15, name
        errors = [np.mean([one[f"{name}_error"] for one in some]) for some in (alike, found)]
        assert errors[0] < 0.5 * errors[1], name
