"""One parameter set serves both polarities: training on either one alone gives the same parameters."""

import numpy as np
import pytest
from scipy.stats import chi2

from parkf.model.steps import FORMS
from parkf.training.rows import read_batches, select, store_sets
from parkf.training.train import train_sets


def _covariance(minimum):
    errors = np.array(minimum.errors)
    return np.outer(errors, errors) * minimum.correlation


@pytest.mark.parametrize("step", ["V", "VUT", "UT"])
def test_magup_and_magdown_give_the_same_p_within_errors(finished, step, tmp_path):
    """The test uses the χ² of all parameters of a fit, because correlated parameters differ together."""
    batches = list(read_batches(finished.folder / f"results/smoke/datasets/{step}.parquet"))
    form = FORMS["improved"].steps[step]
    sets = range(len(form.sets))
    up, down = (
        train_sets(
            store_sets(
                (select(rows, rows["polarity"] == pol) for rows in batches), sets, form.joined, tmp_path
            ),
            form,
            sets,
        )
        for pol in (1, -1)
    )
    probabilities = []
    for one, other in zip(up, down, strict=True):
        for a, b in zip(one.minima, other.minima, strict=True):
            assert a.names == b.names
            known = np.array(a.errors) * np.array(b.errors) > 0
            difference = (np.array(a.values) - b.values)[known]
            covariance = (_covariance(a) + _covariance(b))[np.ix_(known, known)]
            value = difference @ np.linalg.solve(covariance, difference)
            probabilities.append(chi2.sf(value, known.sum()))
            print(f"step {step}, {one.label}, {a.target} ({a.kind}): χ² {value:.1f} of {known.sum()}")
    # These are some dozen fits, whose rows overlap in part.
    assert min(probabilities) > 1e-4
    assert np.median(probabilities) > 0.02
