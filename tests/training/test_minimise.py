"""Minimisation: sandwich errors, errors inherited from earlier fits, and refusal where no minimum exists."""

import numpy as np
import pytest

from parkf.io.errors import ParkfError
from parkf.training.minimise import LARGEST_EDM, Fits, Floating, _InvalidError, _newton
from parkf.training.rows import BLOCK, GROUPS, KEPT, SAMPLE, StoredRows


@pytest.fixture
def fits(tmp_path):
    def store(data, parameters=1, group=None, workers=1, **more):
        rows = dict.fromkeys(KEPT, np.zeros(len(data))) | {"x1": data} | more
        rows["group"] = np.arange(len(data)) % GROUPS if group is None else group
        stored = StoredRows(tmp_path / f"rows of {workers}", workers=workers)
        stored.append(rows)
        return Fits(stored, parameters, "toy")

    return store


def _mean(sigma):
    """Likelihood of the mean of x1, if every row had the error `sigma`."""

    def likelihood(vector, rows):
        pull = (rows["x1"] - vector[0]) / sigma
        return 0.5 * pull**2, -(pull / sigma)[None]

    return likelihood


def _fit(fits, likelihood, start=(0.0,), index=0, limits=(-np.inf, np.inf)):
    floating = [Floating(index, f"p{index}", limits)]
    return fits.minimise(likelihood, np.array(start), floating, np.array([[0.1]]), target="x", kind="test")


@pytest.mark.parametrize("count", [4000, 7 * SAMPLE])
def test_errors_come_from_the_spread_of_the_data(fits, count):
    data = np.random.default_rng(1).normal(0, 5, count)
    result = _fit(fits(data), _mean(sigma=1.0))
    assert result.values[0] == pytest.approx(data.mean(), abs=0.01 / np.sqrt(count))
    assert result.errors[0] == pytest.approx(5 / np.sqrt(count), rel=0.05)


def test_several_processes_find_the_same_bits(fits, monkeypatch):
    """The rows are three stripes, and the last block is not full."""
    monkeypatch.setattr("parkf.training.rows.STRIPE", 2)
    data = np.random.default_rng(6).normal(0, 5, 4 * BLOCK + 100)
    one, several = fits(data), fits(data, workers=3)
    assert list(one.rows.by_stripe(lambda stripe: stripe)) == [range(2), range(2, 4), range(4, 6)]
    expected, found = (_fit(each, _mean(sigma=1.0)) for each in (one, several))
    assert found == expected
    assert expected.values[0] != 0


def test_rows_of_one_particle_count_together(fits):
    data = np.repeat(np.random.default_rng(2).normal(0, 1, 1000), 9)
    result = _fit(fits(data, group=np.repeat(np.arange(1000), 9)), _mean(sigma=1.0))
    assert result.errors[0] == pytest.approx(1 / np.sqrt(1000), rel=0.05)


def test_a_later_fit_inherits_errors(fits):
    random = np.random.default_rng(3)
    first, second = random.normal(0, 3, 2000), random.normal(0, 1, 2000)
    both = fits(first, parameters=2, y1=second)
    _fit(both, _mean(1.0), start=(0.0, 0.0))

    def sum_of_both(vector, rows):
        pull = rows["y1"] - vector[0] - vector[1]
        return 0.5 * pull**2, -pull[None]

    result = _fit(both, sum_of_both, start=(float(first.mean()), 0.0), index=1)
    assert result.errors[0] == pytest.approx(np.hypot(3, 1) / np.sqrt(2000), rel=0.05)


def test_no_minimum(fits):
    def slope(vector, rows):
        return np.full(len(rows["x1"]), vector[0]), np.ones((1, len(rows["x1"])))

    with pytest.raises(ParkfError, match=r"toy: fit of x \(test\) is invalid: .+; at p0 = .+More events"):
        _fit(fits(np.zeros(100)), slope)


def test_a_minimum_counts_where_a_sample_is_concave(fits):
    """Each second row, and so the sample, has a Cauchy density at 0; the others are Gaussian around 3."""
    data = np.tile([-0.1, 3.0, 0.1, 3.0], SAMPLE // 2)

    def likelihood(vector, rows):
        pull, cauchy = rows["x1"] - vector[0], rows["x1"] < 1
        value = np.where(cauchy, np.log1p(pull**2), 0.5 * pull**2)
        return value, -np.where(cauchy, 2 * pull / (1 + pull**2), pull)[None]

    result = _fit(fits(data), likelihood)
    # The derivative of log(1 + w²) + (w − 3)²/2 is zero.
    assert result.values[0] == pytest.approx(2.2599, abs=1e-3)


def test_limits_hold(fits):
    result = _fit(fits(np.full(100, -1.0)), _mean(1.0), start=(0.5,), limits=(0.1, np.inf))
    assert result.values[0] == pytest.approx(0.1, abs=1e-3)


def test_a_step_beyond_where_there_is_a_density_is_shortened(tmp_path):
    """The likelihood is w − log w with minimum one; the search begins with a tenth of the true curvature."""

    class Problem:
        limits = np.array([[-np.inf, np.inf]])

        def evaluate(self, block, w):
            with np.errstate(invalid="ignore"):
                return float(np.sum(w[0] - np.log(w[0] * np.ones(4)))), [np.full(4, 1 - 1 / w[0])]

    rows = StoredRows(tmp_path / "rows")
    rows.append(dict.fromkeys(KEPT, np.zeros(4)))
    w, edm, *_ = _newton(Problem(), np.array([[0.4]]), np.array([4.0]), rows)
    assert w[0] == pytest.approx(1, abs=0.01)
    assert edm < LARGEST_EDM
    with pytest.raises(_InvalidError, match="not finite"):
        _newton(Problem(), np.array([[0.4]]), np.array([-1.0]), rows)
