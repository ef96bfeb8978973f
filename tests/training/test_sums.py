"""The core of a sum of normal numbers is as wide as their quadratic sum; with tails it is wider."""

import numpy as np
import pytest

from parkf.training.sums import COUNTS, widths_of_sums

EDGES = np.linspace(-40, 40, 4002)


def _widths(values: np.ndarray) -> list[float]:
    found = widths_of_sums(np.histogram(values, EDGES)[0].astype(float))
    assert [row["steps"] for row in found] == list(COUNTS)
    return [row["width"] for row in found]


def test_normal_numbers_add_in_quadrature():
    assert _widths(np.random.default_rng(1).normal(0, 1.2, 400_000)) == pytest.approx([1.2] * 5, rel=0.01)


def test_hard_scatters_widen_the_core_of_a_sum_as_drawing_it_does():
    random = np.random.default_rng(2)
    one = random.normal(size=1_600_000) * np.where(random.uniform(size=1_600_000) < 0.05, 4.0, 1.0)
    found = dict(zip(COUNTS, _widths(one), strict=True))
    assert found[1] < found[2] < found[4] < found[8] < found[16]
    # Sums of eight numbers are drawn and measured as well; the limit is the whole variance.
    drawn = _widths(one.reshape(8, -1).sum(axis=0) / np.sqrt(8))[0]
    assert found[8] == pytest.approx(drawn, rel=0.01)
    assert found[8] < np.sqrt(0.95 + 0.05 * 16)
