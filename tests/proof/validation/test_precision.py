"""Two fits of the same candidates that differ by known amounts."""

import numpy as np
import pytest
from samples import make_sample

from parkf.fit.sample import STATE, VARIANCES, Sample
from parkf.proof.validation.precision import compare_precision


def test_differences_are_in_units_of_the_error_and_relative_for_chi2():
    double = make_sample(n=1000, ghosts=100)
    rows = double.rows.copy()
    share = np.linspace(0, 1, len(rows))
    for component in STATE:
        rows[component] += 0.02 * share * np.sqrt(rows[VARIANCES[component]])
    rows["chi2_velo"] += 0.01 * rows[["chi2_velo", "chi2_ut", "chi2_scifi"]].sum(axis=1)
    rows.loc[:99, "status"] = 1
    compared = compare_precision(Sample(rows), double)
    assert compared["n"] == 1000
    for component in STATE:
        assert compared[component]["q99"] == pytest.approx(0.02 * 0.99, abs=5e-4)
    assert compared["chi2"]["q50"] == pytest.approx(0.01)
