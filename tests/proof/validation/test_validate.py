"""Figures of a sample whose resolution and pulls are known by construction."""

from math import erf

import numpy as np
import pytest
from samples import STATE, make_sample, with_momenta

from parkf.fit.sample import chi2_per_ndof, momentum_residual, pulls
from parkf.io.errors import ParkfError
from parkf.proof.validation.validate import validate


def measured(sample):
    """Figures of one fit."""
    return validate({"parkf": sample})["fits"]["parkf"]


def test_resolution_and_bias_come_out_as_put_in():
    bins = measured(make_sample())["momentum"]
    # Tracks start at 2 GeV.
    assert [b["p_min"] for b in bins] == [1.5, 3.0, 5.0, 10.0, 20.0, 50.0]
    assert [b["p_max"] for b in bins] == [3.0, 5.0, 10.0, 20.0, 50.0, 100.0]
    for b in bins:
        assert b["core"] == pytest.approx(0.005, abs=5 * b["core_error"])
        assert b["bias"] == pytest.approx(0.001, abs=5 * b["bias_error"])
        assert b["core_error"] < 0.15 * b["core"]


def test_a_bin_of_momenta_contains_its_lower_edge():
    sample = with_momenta(make_sample(n=4000, ghosts=200), 3000.0, 10000.0, 50000.0)
    assert [one["p_min"] for one in measured(sample)["momentum"]] == [3.0, 10.0, 50.0]


@pytest.mark.parametrize("scale", [0.8, 1.0, 1.3])
def test_pull_width_is_the_ratio_of_spread_to_error(scale):
    widths = measured(make_sample(scale=scale))["pulls"]
    for component in STATE[:4]:
        assert widths[component]["width"] == pytest.approx(scale, abs=5 * widths[component]["width_error"])
    assert widths["qop"]["width"] == pytest.approx(1.0, abs=0.05)


def test_roc_rises_and_separates():
    fit = measured(make_sample())
    genuine, ghost = ([point[kind] for point in fit["roc"]] for kind in ("genuine", "ghost"))
    assert sorted(genuine) == genuine
    assert sorted(ghost) == ghost
    assert fit["working_point"]["ghost"] < 0.01
    # 30 degrees of freedom: 91% lie below χ²/ndof of 1.356.
    assert fit["working_point"]["cut"] == pytest.approx(1.356, abs=0.02)


def test_histograms_are_shares_of_all_entries():
    sample = make_sample(scale=2.0)
    found = measured(sample)["histograms"]
    pull = found["pulls"]["tx"]
    assert (pull["edges"][0], pull["edges"][-1], len(pull["content"])) == (-5.0, 5.0, 60)
    # If pulls are twice as wide as they should be, 1.24 % lie beyond 5.
    assert sum(pull["content"]) == pytest.approx(erf(2.5 / np.sqrt(2)), abs=0.004)
    assert sum(pull["content"][:30]) == pytest.approx(0.5 * erf(2.5 / np.sqrt(2)), abs=0.02)
    for kind, rows in (("genuine", sample.genuine), ("ghost", sample.ghosts)):
        chi2 = found["chi2"][kind]
        assert (chi2["edges"][0], chi2["edges"][-1]) == (0.0, 10.0)
        below = np.searchsorted(chi2["edges"], 2.0)
        assert sum(chi2["content"][:below]) == pytest.approx((chi2_per_ndof(rows) < 2.0).mean())


def test_a_scan_of_cuts_counts_what_lies_below():
    sample = make_sample(n=3000, ghosts=600)
    scan = measured(sample)["roc"]
    cuts = [point["cut"] for point in scan]
    # From 0.1 in steps of 0.05 to 5, then coarser to 500.
    assert (cuts[0], cuts[1], cuts[-1]) == (0.1, 0.15, 500.0)
    for point in scan[::10]:
        assert point["genuine"] == (chi2_per_ndof(sample.genuine) < point["cut"]).mean()
        assert point["ghost"] == (chi2_per_ndof(sample.ghosts) < point["cut"]).mean()


@pytest.mark.parametrize(("ndof", "seen"), [(0, False), (1, True), (3, True)])
def test_a_fit_without_a_detector_has_no_scores(ndof, seen):
    sample = make_sample(n=1000, ghosts=200)
    sample.rows["ndof_ut"] = ndof
    assert ("scores" in measured(sample)) == seen


def test_failed_fits_count_as_rejected_and_never_as_pulls():
    sample = make_sample(n=1000, ghosts=200)
    sample.rows.loc[:99, "status"] = 1
    sample.rows.loc[:99, "x"] = np.nan
    fit = measured(sample)
    assert fit["failed"] == 100
    assert fit["roc"][-1]["genuine"] == pytest.approx(0.9)
    assert np.isinf(chi2_per_ndof(sample.rows.iloc[:100])).all()


def test_electrons_and_slow_particles_are_no_genuine_sample():
    sample = make_sample(n=100, ghosts=60)
    sample.rows.loc[:9, "pdg_id"] = -11
    sample.rows.loc[10:19, "p_true"] = 1900.0
    assert len(sample.genuine) == 80
    assert len(pulls(sample.genuine, "x")) == 80
    assert len(momentum_residual(sample.genuine)) == 80


def test_tracks_of_particles_that_decay_are_neither_genuine_nor_ghosts():
    sample = make_sample(n=1000, ghosts=60)
    sample.rows.loc[:29, "z_end"] = 5000.0
    sample.rows.loc[:9, "p_true"] = 1900.0
    assert len(sample.genuine) == 970
    assert len(sample.decayed) == 20
    assert len(sample.ghosts) == 60
    assert measured(sample)["fates"][0]["n"] == 970


def test_too_few_tracks_are_refused():
    with pytest.raises(ParkfError, match=r"30 ghosts, expected at least 50.*raise events\.validation"):
        measured(make_sample(n=1000, ghosts=30))


def test_tracks_without_ut_hits_do_not_keep_others_from_scores():
    sample = make_sample(n=1000, ghosts=200)
    sample.rows["ndof_ut"] = 3 * (np.arange(len(sample.rows["ndof_ut"])) % 2)
    assert "scores" in measured(sample)


def test_fits_are_compared_with_the_full_fit_of_the_same_tracks():
    """The fits share the errors of the tracks, and the set's is higher by 0.1 %."""
    full, ours = make_sample(bias=0.0), make_sample(bias=0.0)
    ours.rows["qop"] /= 1.001
    fits = validate({"parkf": ours, "full": full})["fits"]
    assert "bias_minus_full" not in fits["full"]["momentum"][0]
    for one in fits["parkf"]["momentum"]:
        assert one["bias_minus_full"] == pytest.approx(0.001, rel=0.02)
        assert one["bias_minus_full_error"] < 0.02 * one["bias_error"]
        assert one["core_over_full"] == pytest.approx(1.001, rel=1e-6)
        assert one["width95_over_full"] == pytest.approx(1.001, rel=1e-6)
    for one in fits["parkf"]["breakdown"]["velo_hits"] + fits["parkf"]["directions"]:
        assert one["bias_minus_full"] == pytest.approx(0.001, rel=0.05)


def test_a_bias_is_controlled_by_full_fits_of_more_tracks():
    full, ours = make_sample(n=4000, bias=0.002), make_sample(n=4000, bias=0.002)
    ours.rows["qop"] /= 1.001
    more = with_momenta(make_sample(bias=0.0), 60_000.0)
    measured = validate({"parkf": ours, "full": full}, control=(more, 500))
    crossings = measured["counts"]["crossings"]
    assert crossings == full.rows.event.nunique()
    *soft, stiff = measured["control"]["momentum"]
    assert {one["crossings"] for one in soft} == {crossings}
    assert (stiff["n"], stiff["crossings"]) == (20_000, crossings + 500)
    for one, own in zip([*soft, stiff], measured["fits"]["parkf"]["momentum"], strict=True):
        assert own["bias_controlled"] == one["bias"] + own["bias_minus_full"]
        assert own["bias_controlled_error"] == pytest.approx(
            np.hypot(one["bias_error"], own["bias_minus_full_error"])
        )
    last = measured["fits"]["parkf"]["momentum"][-1]
    assert last["bias_controlled"] == pytest.approx(0.001, abs=4 * last["bias_controlled_error"])
    assert last["bias_controlled_error"] < 0.5 * last["bias_error"]
    assert "control" not in validate({"parkf": ours})
