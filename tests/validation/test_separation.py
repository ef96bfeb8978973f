"""The discriminant of three χ² pieces."""

import numpy as np
from samples import make_sample

from parkf.validation.sample import chi2_per_ndof
from parkf.validation.separation import discriminant


def kept(genuine, ghosts):
    """Ghosts that look more genuine than a tenth of the genuine tracks."""
    return (ghosts > np.quantile(genuine, 0.1)).mean()


def test_it_beats_the_sum_where_one_piece_tells():
    sample = make_sample(n=20_000, ghosts=4000)
    rows = sample.rows
    ghost = (rows.purity < 0.7).to_numpy()
    # Ghosts of one bad piece, the smallest.
    rows.loc[ghost, ["chi2_velo", "chi2_scifi"]] /= 10
    rows.loc[ghost, "chi2_ut"] /= 3
    by_sum = kept(-chi2_per_ndof(sample.genuine), -chi2_per_ndof(sample.ghosts))
    assert kept(*discriminant(sample)) < 0.7 * by_sum


def test_tracks_without_ut_and_failed_fits_are_told():
    sample = make_sample(n=2000, ghosts=500)
    rows = sample.rows
    rows.loc[rows.index % 3 == 0, ["chi2_ut", "ndof_ut"]] = 0
    rows.loc[:9, "status"] = 1
    genuine, ghosts = discriminant(sample)
    assert np.isneginf(genuine[:10]).all()
    assert np.isfinite(genuine[10:]).all()
    assert np.isfinite(ghosts).all()
