"""Half widths of distributions whose quantiles are known."""

import numpy as np
import pytest
from scipy import stats

from parkf.proof.validation.spread import spread


def test_a_gaussian_has_its_width_twice_whatever_its_mean():
    values = 3.0 + 0.5 * stats.norm.ppf((np.arange(100_000) + 0.5) / 100_000)
    found = spread(values)
    assert found["width68"] == pytest.approx(0.5, rel=1e-4)
    assert found["width95"] == pytest.approx(0.5, rel=1e-4)


def test_tails_show_where_they_are():
    # Student's t of three degrees of freedom: 68.27 % within 1.197, 95 % within 3.182.
    values = stats.t(3).ppf((np.arange(100_000) + 0.5) / 100_000)
    found = spread(values, "pull_")
    assert found["pull_width68"] == pytest.approx(1.197, abs=1e-3)
    assert found["pull_width95"] == pytest.approx(3.182 / 1.960, abs=1e-3)


@pytest.mark.parametrize("shape", [stats.norm(), stats.t(4)])
def test_errors_are_what_repetition_shows(shape):
    print("seed 5")
    random = np.random.default_rng(5)
    several = [spread(shape.rvs(1000, random_state=random)) for _ in range(400)]
    for name in ("width68", "width95"):
        seen = np.std([one[name] for one in several])
        assert np.mean([one[f"{name}_error"] for one in several]) == pytest.approx(seen, rel=0.12), name
