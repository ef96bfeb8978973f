"""The tail of the q/p pull is divided among its causes, on tracks whose causes are known."""

import numpy as np
import pandas as pd
import pytest

from parkf.fit.sample import Sample
from parkf.proof.validation.tails import CAUSES, tails

N = 200_000


def _sample(fates=True):
    """Tracks of 10 to 20 GeV with Gaussian pulls; each cause of tails affects some of them, independently."""
    random = np.random.default_rng(5)
    charge = random.choice([-1.0, 1.0], N)
    pull = random.normal(size=N)
    wrong, hard, loses = (random.random(N) < share for share in (0.1, 0.2, 0.02))
    far = np.zeros((3, N))
    far[0] = np.where(wrong & (random.random(N) < 0.1), random.choice([-6.0, 6.0], N), 0)
    far[1] = np.where(hard & (random.random(N) < 0.05), random.choice([-6.0, 6.0], N), 0)
    far[2] = np.where(loses, 6.0 * charge, 0)  # |q/p| too large
    pull += far.sum(axis=0)
    true = charge / random.uniform(10e3, 20e3, N)
    sigma = 0.004 * np.abs(true)
    rows = pd.DataFrame(
        {
            "status": 0,
            "purity": np.where(wrong, 0.95, 1.0),
            "z_end": np.inf,
            "hardest": np.where(hard, 9.0, 3.0) if fates else np.nan,
            "p_true": 1 / np.abs(true),
            "pdg_id": 211,
            "true_qop": true,
            "qop": true + pull * sigma,
            "qopqop": sigma**2,
        }
    )
    return Sample(rows), np.abs(pull) > 3, far


def test_each_cause_gets_its_share():
    sample, tail, far = _sample()
    (entry,) = tails(sample)
    assert (entry["p_min"], entry["p_max"], entry["n"]) == (10.0, 20.0, N)
    assert entry["beyond"] == pytest.approx(tail.mean())
    assert sum(entry[name] for name in CAUSES) == pytest.approx(1)
    for name, moved in zip(CAUSES, far, strict=False):
        # Each of two causes gets half of the tail that they make together.
        assert entry[name] == pytest.approx((tail & (moved != 0)).sum() / tail.sum(), abs=0.03), name
        assert 0 < entry[f"{name}_error"] < 0.03
    assert entry["rest"] == pytest.approx(0.0027 * N / tail.sum(), abs=0.02)


def test_without_fates_scatterings_are_in_the_rest():
    sample, tail, far = _sample(fates=False)
    (entry,) = tails(sample)
    assert entry["scatterings"] is None
    assert entry["scatterings_error"] is None
    assert entry["rest"] == pytest.approx(
        (tail & (far[1] != 0)).sum() / tail.sum() + 0.0027 * N / tail.sum(), abs=0.04
    )


def test_each_bin_has_the_causes_of_its_own_tail():
    sample, *_ = _sample()
    others = sample.rows.assign(purity=1.0, hardest=3.0, p_true=3 * sample.rows.p_true)
    lower, *_ = tails(Sample(pd.concat([sample.rows, others], ignore_index=True)))
    assert [lower] == tails(sample)


def test_a_tail_without_tracks_has_no_shares():
    sample, tail, _ = _sample()
    (entry,) = tails(Sample(sample.rows[~tail]))
    assert entry["beyond"] == 0
    assert all(entry[name] is None for name in CAUSES)
