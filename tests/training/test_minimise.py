"""Minimisation: sandwich errors, errors inherited from earlier fits, and refusal of what has no minimum."""

import numpy as np
import pytest

from parkf.errors import ParkfError
from parkf.training.minimise import Floating, Influence, minimise


def _mean_of(data, sigma):
    """Likelihood of a mean, if every row had the error `sigma`."""

    def likelihood(vector):
        pull = (data - vector[0]) / sigma
        return 0.5 * pull**2, -(pull / sigma)[:, None]

    return likelihood


def _fit(likelihood, influence, start=(0.0,), index=0, direction=0.1):
    floating = [Floating(index, f"p{index}")]
    return minimise(
        likelihood,
        np.array(start),
        floating,
        np.array([[direction]]),
        influence,
        target="x",
        kind="test",
        where="toy",
    )


def test_errors_come_from_the_spread_of_the_data():
    data = np.random.default_rng(1).normal(0, 5, 4000)
    result = _fit(_mean_of(data, sigma=1.0), Influence(np.arange(4000), 1))
    assert result.values[0] == pytest.approx(data.mean(), abs=1e-4)
    assert result.errors[0] == pytest.approx(5 / np.sqrt(4000), rel=0.05)
    assert result.naive_errors[0] == pytest.approx(1 / np.sqrt(4000), rel=0.01)


def test_rows_of_one_particle_count_together():
    data = np.repeat(np.random.default_rng(2).normal(0, 1, 1000), 9)
    result = _fit(_mean_of(data, sigma=1.0), Influence(np.repeat(np.arange(1000), 9), 1))
    assert result.errors[0] == pytest.approx(1 / np.sqrt(1000), rel=0.05)


def test_a_later_fit_inherits_errors():
    random = np.random.default_rng(3)
    first, second = random.normal(0, 3, 2000), random.normal(0, 1, 2000)
    influence = Influence(np.arange(2000), 2)
    _fit(_mean_of(first, 1.0), influence, start=(0.0, 0.0))

    def sum_of_both(vector):
        pull = second - vector[0] - vector[1]
        return 0.5 * pull**2, -pull[:, None]

    result = _fit(sum_of_both, influence, start=(float(first.mean()), 0.0), index=1)
    assert result.errors[0] == pytest.approx(np.hypot(3, 1) / np.sqrt(2000), rel=0.05)


def test_no_minimum():
    def slope(vector):
        return np.full(100, vector[0]), np.ones((100, 1))

    with pytest.raises(ParkfError, match=r"toy: fit of x \(test\) is invalid: .+; at p0 = .+More events"):
        _fit(slope, Influence(np.arange(100), 1))


def test_limits_hold():
    data = np.full(100, -1.0)
    result = minimise(
        _mean_of(data, 1.0),
        np.array([0.5]),
        [Floating(0, "p0", (0.1, None))],
        np.array([[0.1]]),
        Influence(np.arange(100), 1),
        target="x",
        kind="test",
        where="toy",
    )
    assert result.values[0] == pytest.approx(0.1, abs=1e-3)
