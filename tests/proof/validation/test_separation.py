"""Ghosts that a cut keeps: the average over cuts, its error, and the difference of two fits."""

import numpy as np
import pytest
from samples import make_sample

from parkf.fit.sample import chi2_per_ndof
from parkf.proof.validation.figures import WORKING_POINT, event_of
from parkf.proof.validation.separation import ghosts_kept, measure_cut


def _chi2(sample, random, noise):
    """χ² with which ghosts are kept by a quarter, after a fit that adds noise of its own."""
    chi2 = chi2_per_ndof(sample.rows) / np.where(sample.is_ghost, 7, 1)
    return -chi2 * (1 + noise * random.normal(size=len(chi2)))


def test_a_cut_keeps_what_lies_beyond_it():
    sample = make_sample(n=4000, ghosts=800)
    values = _chi2(sample, np.random.default_rng(1), 0.0)
    point = measure_cut(sample, values)["working_point"]
    assert point["genuine"] == pytest.approx(0.91, abs=1 / 4000)
    assert point["ghost"] == (values[sample.is_ghost] >= point["cut"]).mean()
    assert ghosts_kept(sample, values).value == pytest.approx(point["ghost"], abs=0.02)


def test_fits_that_fail_are_not_kept():
    sample = make_sample(n=1000, ghosts=200)
    sample.rows.loc[:199, "status"] = 1
    point = measure_cut(sample, -chi2_per_ndof(sample.rows))["working_point"]
    assert np.isfinite(point["cut"])
    assert point["genuine"] == 1.0


def test_errors_of_fractions_and_of_differences_cover_the_truth():
    """A hundred toys of two fits: 68 % within one error is known to 5 %, 95 % within two to 2 %."""
    random, off = np.random.default_rng(8), {"one fit": [], "difference": []}
    sample = make_sample(n=2000, ghosts=400)
    rows, event = sample.rows, event_of(sample.rows)
    errors_of = []
    for _ in range(100):
        for name in ("velo", "ut", "scifi"):
            ndof = rows[f"ndof_{name}"]
            rows[f"chi2_{name}"] = random.chisquare(ndof) * np.where(sample.is_ghost, 10, 1)
        one, other = (ghosts_kept(sample, _chi2(sample, random, 0.0)) for _ in range(2))
        assert one.minus(other).error(event) == 0.0
        chi2 = _chi2(sample, random, 0.0)
        one, other = (
            ghosts_kept(sample, chi2 * (1 + 0.05 * random.normal(size=len(chi2)))) for _ in range(2)
        )
        difference = one.minus(other)
        errors_of.append((one.error(event), difference.error(event)))
        off["one fit"].append((one.value, one.error(event)))
        off["difference"].append((difference.value, difference.error(event)))
    for name, found in off.items():
        values, errors = np.array(found).T
        pulls = np.abs(values - (0.0 if name == "difference" else values.mean())) / errors
        assert 0.53 < (pulls < 1).mean() < 0.83, name
        assert 0.89 < (pulls < 2).mean() <= 1, name
    single, paired = np.mean(errors_of, axis=0)
    assert paired < 0.6 * single


def test_errors_are_those_of_drawing_events_again():
    """Candidates of an event share a factor of χ², so that errors are larger than those of single tracks."""
    sample = make_sample(n=4000, ghosts=800)
    rows, random = sample.rows, np.random.default_rng(6)
    rows["event"] = random.integers(0, 200, len(rows))
    factor = random.uniform(0.8, 1.25, 200)
    for name in ("velo", "ut", "scifi"):
        rows[f"chi2_{name}"] *= factor[rows.event] / np.where(sample.is_ghost, 8, 1)
    chi2 = (rows.eval("chi2_velo + chi2_ut + chi2_scifi") / 30).to_numpy()
    members = [np.flatnonzero(rows.event == event) for event in range(200)]
    drawn = []
    for _ in range(400):
        at = np.concatenate([members[event] for event in random.integers(0, 200, 200)])
        cut = np.quantile(chi2[at][sample.is_genuine[at]], WORKING_POINT)
        drawn.append((cut, (chi2[at][sample.is_ghost[at]] <= cut).mean()))
    point = measure_cut(sample, -chi2_per_ndof(rows))["working_point"]
    for name, seen in zip(("cut", "ghost"), np.std(drawn, axis=0), strict=True):
        assert point[f"{name}_error"] == pytest.approx(seen, rel=0.2), name
