"""Slices of a sample whose figures are known by construction."""

import numpy as np
import pytest
from samples import make_sample

from parkf.proof.validation.breakdown import VARIABLES, breakdown, fates


def test_slices_share_out_all_tracks():
    sample = make_sample(n=6000, ghosts=600)
    slices = breakdown(sample, cut=2.0)
    assert set(slices) == set(VARIABLES)
    for variable in ("charge", "polarity", "ut_layers"):
        assert sum(one["n"] for one in slices[variable]) == 6000


def test_left_and_right_and_above_and_below_are_quoted_alike():
    slices = breakdown(make_sample(n=1000, ghosts=60), cut=2.0)
    for variable in ("side", "half", "charge", "polarity"):
        lower, upper = slices[variable]
        assert (lower["low"], lower["high"]) == (-upper["high"], -upper["low"])


def test_what_is_exactly_at_the_cut_is_not_below_it():
    sample = make_sample(n=1000, ghosts=60)
    for detector in ("velo", "ut", "scifi"):
        sample.rows[f"chi2_{detector}"] = 2.0 * sample.rows[f"ndof_{detector}"]
    for cut, kept in ((2.0, 0.0), (np.nextafter(2.0, 3.0), 1.0)):
        assert [one["genuine"] for one in breakdown(sample, cut=cut)["half"]] == [kept, kept]
        assert [one["kept"] for one in fates(sample, cut=cut)[:1]] == [kept]


def test_a_bad_slice_stands_out_and_others_stay():
    sample = make_sample(n=10_000, ghosts=600, bias=0.0)
    rows = sample.rows
    lower = rows.ty < 0
    rows.loc[lower, "qop"] = rows.true_qop / (1 + 3 * (rows.true_qop / rows.qop - 1))
    rows.loc[lower, "chi2_velo"] *= 4
    slices = breakdown(sample, cut=1.5)
    below, above = slices["half"]
    assert above["pulls"]["qop"] == pytest.approx(1, abs=0.05)
    assert below["pulls"]["qop"] == pytest.approx(3, abs=0.15)
    assert below["core"] == pytest.approx(0.015, rel=0.05)
    assert above["core"] == pytest.approx(0.005, rel=0.05)
    assert below["genuine"] < 0.2 < 0.9 < above["genuine"]
    for one in slices["charge"]:
        assert np.isclose(one["genuine"], (below["genuine"] + above["genuine"]) / 2, atol=0.03)


def test_ghosts_are_told_by_what_became_of_their_particle():
    """In the sample every fourth particle ends; here what such ghosts left looks like tracks."""
    sample = make_sample(n=4000, ghosts=1000)
    rows = sample.rows
    looking_good = (rows.purity < 0.7) & np.isfinite(rows.z_end)
    rows.loc[looking_good, ["chi2_velo", "chi2_ut", "chi2_scifi"]] /= 10
    own, ended, other = fates(sample, cut=2.0)
    assert (own["n"], ended["n"], other["n"]) == (4000, 250, 750)
    assert ended["kept"] == pytest.approx(own["kept"], abs=0.02)
    assert other["kept"] < 0.01
    assert ended["chi2_median"] == pytest.approx(own["chi2_median"], rel=0.1)


def test_purity_counts_what_a_cut_keeps():
    sample = make_sample(n=4000, ghosts=1000)
    (one,) = breakdown(sample, cut=1e9)["velo_hits"]
    assert one["genuine"] == one["ghost"] == 1
    assert one["purity"] == pytest.approx(0.8)


def test_slices_of_p_are_in_gev():
    sample = make_sample(n=6000, ghosts=600, bias=0.0)
    for one in breakdown(sample, cut=2.0)["p"]:
        here = sample.rows.p_true[:6000].between(1000 * one["low"], 1000 * one["high"]).sum()
        # Half a per cent of resolution moves few over an edge.
        assert one["n"] == pytest.approx(here, abs=10)
