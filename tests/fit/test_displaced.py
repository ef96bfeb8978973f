"""Medians of small samples agree with NumPy's, and weighted ones with samples that have rows repeated."""

import numpy as np
import pytest

from parkf.fit.displaced import medians, weighted_medians


@pytest.mark.parametrize("count", [1, 2, 5, 100])
def test_medians_are_numpys(count):
    random = np.random.default_rng(2)
    columns = random.normal(size=(count, 4))
    columns[random.random(columns.shape) < 0.3] = np.nan
    columns[0] = 1.0
    columns[:, 3] = np.nan
    np.testing.assert_array_equal(medians(columns)[:3], np.nanmedian(columns[:, :3], axis=0))
    assert np.isnan(medians(columns)[3])


def test_a_weight_of_three_counts_as_three_values():
    random = np.random.default_rng(4)
    values, weights = random.normal(size=(6, 21)), 2 * random.integers(0, 3, size=(6, 21)) + 1
    expected = [np.median(np.repeat(row, count)) for row, count in zip(values, weights, strict=True)]
    np.testing.assert_array_equal(weighted_medians(values, weights.astype(float)), expected)


def test_values_without_weight_do_not_count():
    values, weights = np.array([[9.0, 1.0, 2.0, 3.0, -9.0]]), np.array([[0.0, 1.0, 1.0, 1.0, 0.0]])
    assert weighted_medians(values, weights) == 2.0
