"""The discriminant of three χ² pieces."""

import numpy as np
from samples import make_sample

from parkf.fit.sample import chi2_per_ndof
from parkf.proof.validation.separation import discriminant


def kept(genuine, ghosts):
    """Ghosts that look more genuine than a tenth of the genuine tracks."""
    return (ghosts > np.quantile(genuine, 0.1)).mean()


def test_it_beats_the_sum_where_one_piece_tells():
    sample = make_sample(n=20_000, ghosts=4000)
    rows = sample.rows
    ghost = (rows.purity < 0.7).to_numpy()
    # In each ghost only the smallest piece, the UT's, still has a bad χ².
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


def test_zero_is_where_both_are_as_likely_however_many_there_are():
    """The pieces do not separate, and there are ten genuine tracks for each ghost."""
    sample = make_sample(n=4000, ghosts=400)
    for name, ndof in (("velo", 16), ("ut", 3), ("scifi", 11)):
        sample.rows[f"chi2_{name}"] = np.random.default_rng(ndof).chisquare(ndof, 4400)
    assert abs(np.median(np.concatenate(discriminant(sample)))) < 0.3


def test_a_track_is_judged_by_what_others_taught():
    """The pieces do not separate. Tested on the forty training tracks themselves, they would seem to."""
    shares = []
    for seed in range(20):
        sample = make_sample(n=20, ghosts=20)
        random = np.random.default_rng(seed)
        sample.rows["event"] = random.permutation(40)
        for name in ("velo", "ut", "scifi"):
            sample.rows[f"chi2_{name}"] = random.chisquare(5, 40)
        genuine, ghosts = discriminant(sample)
        shares.append((genuine[:, None] > ghosts).mean())
    # A genuine track looks better with a chance of one half; each sample measures this chance to 0.09.
    assert np.mean(shares) < 0.5 + 3 * 0.09 / 20**0.5
