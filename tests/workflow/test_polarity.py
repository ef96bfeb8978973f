"""One parameter set serves both polarities: each alone gives the same."""

import numpy as np
import pytest

from parkf.steps import FORMS
from parkf.training.rows import read_batches, select
from parkf.training.train import train_rows


@pytest.mark.parametrize("step", ["V", "VUT", "UT"])
def test_magup_and_magdown_give_the_same_p_within_errors(finished, step):
    batches = list(read_batches(finished.folder / f"results/smoke/datasets/{step}.parquet"))
    up, down = (
        train_rows([select(rows, rows["polarity"] == pol) for rows in batches], FORMS["improved"].steps[step])
        for pol in (1, -1)
    )
    pulls = [
        (a - b) / np.hypot(error_a, error_b)
        for one, other in zip(up, down, strict=True)
        for a, b, error_a, error_b in zip(one.values, other.values, one.errors, other.errors, strict=True)
        if error_a is not None and error_b is not None
    ]
    print(
        f"step {step}: {len(pulls)} parameters, RMS of the differences over their errors {np.std(pulls):.2f}"
    )
    assert np.sqrt(np.mean(np.square(pulls))) < 1.5
    assert np.max(np.abs(pulls)) < 4.5
