"""Two fits compared: the ratio of cores of the same tracks."""

import numpy as np
import pytest

from parkf.proof.validation.figures import core_ratio, displacement


def _fits(seed, own, count=2000, common=0.004):
    """Two fits. Their residuals share a part, and each fit adds an independent part of width `own`."""
    random = np.random.default_rng(seed)
    p_true, shared = random.uniform(3000, 5000, count), random.normal(0, common, count)
    event = random.integers(0, 300, count)
    residuals = (shared + random.normal(0, width, count) for width in own)
    return [{"event": event, "p_true": p_true, "qop": 1 / (p_true * (1 + r))} for r in residuals]


def test_a_line_passes_the_axis_at_the_distance_that_a_ruler_measures():
    """Lines along (3, 4) and (0, 1) across the beam, through (1, 2) and (5, 7): 0.4 and 5 from the axis."""
    rows = {"true_x": [1.0, 5.0], "true_y": [2.0, 7.0], "true_tx": [0.3, 0.0], "true_ty": [0.4, 0.1]}
    assert displacement({name: np.array(values) for name, values in rows.items()}) == pytest.approx([0.4, 5])


def test_a_fit_beside_itself_has_ratio_one_without_an_error():
    one, other = _fits(1, (0.0, 0.0))
    assert core_ratio(one, other) == (1.0, 0.0)


def test_ratio_and_error_are_right_on_toys_and_what_both_share_makes_the_error_smaller():
    """Widths of 0.005 and 0.0042 have a ratio of 1.19; over 40 toys, its pulls have mean 0 and width 1."""
    expected = np.hypot(0.004, 0.003) / np.hypot(0.004, 0.0013)
    found = np.array([core_ratio(*_fits(seed, (0.003, 0.0013))) for seed in range(40)])
    pulls = (found[:, 0] - expected) / found[:, 1]
    assert abs(pulls.mean()) < 0.5
    assert 0.7 < pulls.std() < 1.3
    alike = [core_ratio(*_fits(seed, (0.0003, 0.0003)))[1] for seed in range(5)]
    assert np.mean(alike) < 0.5 * found[:, 1].mean()


def test_the_error_of_a_ratio_is_that_of_the_jackknife():
    """The square of the error is (n - 1)/n times the sum of squares of n values without a group each."""
    one, other = _fits(5, (0.003, 0.0013), count=400)
    without = []
    for group in range(20):
        kept = one["event"] % 20 != group
        parts = [{name: values[kept] for name, values in fit.items()} for fit in (one, other)]
        without.append(core_ratio(*parts)[0])
    assert core_ratio(one, other)[1] == pytest.approx(np.sqrt(19) * np.std(without), rel=1e-6)


def test_more_tracks_of_one_fit_do_no_harm():
    one, other = _fits(3, (0.001, 0.001))
    few = {name: values[5:] for name, values in other.items()}
    ratio, error = core_ratio(one, few)
    assert ratio == pytest.approx(1, abs=4 * error)
    assert 0.001 < error < 0.03
