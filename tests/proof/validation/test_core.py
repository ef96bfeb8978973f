"""Cores of distributions with tails, and half widths of those whose quantiles are known."""

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize
from scipy.stats import norm, truncnorm

from parkf._figures import moments
from parkf.proof.validation.core import central_widths, fit_core, smooth_core


def test_clean_gaussian_is_found_within_its_errors():
    rng = np.random.default_rng(11)
    core = fit_core(rng.normal(3.0, 0.25, 40_000))
    assert abs(core.mean - 3.0) < 4 * core.mean_error
    assert abs(core.width - 0.25) < 4 * core.width_error
    # Truncation at two widths costs precision: about 1.7 times the error of the full sample's RMS.
    assert core.width_error == pytest.approx(0.25 / np.sqrt(2 * 40_000) * 1.9, rel=0.25)


def test_pulls_of_the_fitted_width_have_width_one():
    rng = np.random.default_rng(12)
    cores = [fit_core(rng.normal(0.0, 1.0, 400)) for _ in range(200)]
    pulls = [(core.width - 1) / core.width_error for core in cores]
    assert 0.85 < np.std(pulls) < 1.2
    assert abs(np.mean(pulls)) < 0.3


def test_far_tails_do_not_widen_the_core():
    rng = np.random.default_rng(13)
    values = np.concatenate([rng.normal(0, 1e-3, 50_000), rng.uniform(-1, 1, 2_500)])
    assert fit_core(values).width == pytest.approx(1e-3, rel=0.02)


@pytest.mark.parametrize(("seed", "count", "low", "high"), [(5, 800, -0.2, 2.0), (4, 1600, 0.0, 1.0)])
def test_a_background_on_one_side_does_not_draw_the_core_away(seed, count, low, high):
    rng = np.random.default_rng(seed)
    core = fit_core(np.concatenate([rng.normal(0, 1e-3, 2000), rng.uniform(low, high, count)]))
    assert abs(core.mean) < 3 * core.mean_error
    assert core.width == pytest.approx(1e-3, rel=0.05)


def test_the_range_follows_a_mean_that_moves_while_the_width_stays():
    rng = np.random.default_rng(466273)
    core = fit_core(np.concatenate([rng.normal(0, 1, 1000), rng.uniform(0, 10, 1000)]))
    # The background fills one side of the core.
    assert 0 < core.mean < 0.5
    assert 1.0 < core.width < 1.5


def test_moments_are_those_of_a_truncated_gaussian():
    mean, width = 0.5, 0.7
    expected = truncnorm((-2 - mean) / width, (2 - mean) / width, mean, width)
    assert moments(mean, width) == pytest.approx([expected.moment(order) for order in (1, 2, 3, 4)])


@pytest.mark.parametrize("values", [np.zeros(3), np.full(100, np.nan)])
def test_refuses_what_it_cannot_fit(values):
    with pytest.raises(ValueError, match="at least 20 finite"):
        fit_core(values)


def test_the_likelihood_is_largest_at_what_was_found():
    """The result agrees with a plain numerical search, and the errors with its curvature."""
    rng = np.random.default_rng(14)
    values = np.concatenate([rng.normal(1.0, 0.3, 900), rng.normal(1.2, 1.5, 100)])
    core = fit_core(values)
    inside = values[np.abs(values - core.mean) < 2 * core.width]
    edges = core.mean + 2 * core.width * np.array([-1, 1])

    def nll(at):
        shape = norm(*at)
        return -(shape.logpdf(inside) - np.log(np.diff(shape.cdf(edges)))).sum()

    best = minimize(nll, (1.05, 0.35), method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-9}).x
    # The range follows the fit until it moves by less than a thousandth of the width.
    assert core.mean == pytest.approx(best[0], abs=2e-3 * core.width)
    assert core.width == pytest.approx(best[1], abs=2e-3 * core.width)
    step = 1e-3
    curvature = [
        [
            sum(
                a
                * b
                * nll(
                    (
                        best[0] + step * (a * (i == 0) + b * (j == 0)),
                        best[1] + step * (a * (i == 1) + b * (j == 1)),
                    )
                )
                for a in (-1, 1)
                for b in (-1, 1)
            )
            / (4 * step**2)
            for j in range(2)
        ]
        for i in range(2)
    ]
    errors = np.sqrt(np.diag(np.linalg.inv(curvature)))
    assert [core.mean_error, core.width_error] == pytest.approx(errors, rel=0.02)


def test_a_gaussian_has_its_width_twice_whatever_its_mean():
    values = 3.0 + 0.5 * stats.norm.ppf((np.arange(100_000) + 0.5) / 100_000)
    found = central_widths(values)
    assert found["width68"].value == pytest.approx(0.5, rel=1e-4)
    assert found["width95"].value == pytest.approx(0.5, rel=1e-4)


def test_tails_show_where_they_are():
    # Student's t of three degrees of freedom: 68.27 % within 1.197, 95 % within 3.182.
    values = stats.t(3).ppf((np.arange(100_000) + 0.5) / 100_000)
    found = central_widths(values)
    assert found["width68"].value == pytest.approx(1.197, abs=1e-3)
    assert found["width95"].value == pytest.approx(3.182 / 1.960, abs=1e-3)


@pytest.mark.parametrize("shape", [stats.norm(), stats.t(4)])
def test_errors_are_what_repetition_shows(shape):
    print("seed 5")
    random = np.random.default_rng(5)
    samples = [shape.rvs(1000, random_state=random) for _ in range(400)]
    cores = [dict(zip(("mean", "width"), smooth_core(values), strict=True)) for values in samples]
    several = [central_widths(values) | core for values, core in zip(samples, cores, strict=True)]
    for name in ("width68", "width95", "mean", "width"):
        seen = np.std([one[name].value for one in several])
        assert np.mean([one[name].error() for one in several]) == pytest.approx(seen, rel=0.12), name


def test_the_smooth_core_of_a_gaussian_is_its_mean_and_width():
    mean, width = smooth_core(3.0 + 0.5 * stats.norm.ppf((np.arange(100_000) + 0.5) / 100_000))
    assert (mean.value, width.value) == pytest.approx((3.0, 0.5), rel=1e-4)


def test_influences_are_what_leaving_out_an_entry_shows():
    random = np.random.default_rng(15)
    values = random.normal(1.0, 0.3, 2000)
    core = fit_core(values)
    for left_out in (3, 77, 1500):
        others = np.delete(values, left_out)
        for all_of_them, without in zip(smooth_core(values), smooth_core(others), strict=True):
            change = all_of_them.value - without.value
            assert all_of_them.influence[left_out] == pytest.approx(change, rel=0.01, abs=1e-8)
    assert core.width_of(values).error() == pytest.approx(core.width_error, rel=0.05)


def test_figures_that_share_entries_have_errors_of_what_they_do_not_share():
    """The shared part is twenty times the own part, which alone makes the error of a difference."""
    random = np.random.default_rng(16)
    shared = random.normal(0.0, 1.0, 4000)
    one, other = (smooth_core(shared + random.normal(0.0, 0.05, 4000))[0] for _ in range(2))
    difference = one.minus(other)
    assert difference.error() < 0.1 * one.error()
    assert abs(difference.value) < 4 * difference.error()
    event = np.arange(4000) // 4
    # Four entries of an event that count together.
    together = smooth_core(np.repeat(shared[:1000], 4))[0]
    assert together.error(event) == pytest.approx(2 * together.error(), rel=1e-9)
    assert one.over(one).error() == 0.0


@pytest.mark.parametrize("seed", [491, 780, 1189, 1215, 1949, 2802])
def test_few_values_far_from_a_gaussian_have_a_smooth_core(seed):
    """Newton's step alone runs away here."""
    values = np.random.default_rng(seed).standard_t(2, 50)
    mean, width = smooth_core(values)
    low, high = np.quantile(values, (0.1587, 0.8413))
    assert low < mean.value < high
    assert 0.1 * (high - low) < width.value < high - low
