"""Slices of a sample whose figures are known by construction."""

import numpy as np
import pandas as pd
import pytest
from samples import make_sample

from parkf.proof.validation.breakdown import (
    IMPACT_EDGES,
    VARIABLES,
    breakdown,
    fates,
    impact_parameters,
    losses,
)


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
    """The particle of every fourth ghost ends in the detector; here these ghosts have the χ² of tracks."""
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


def test_a_wrong_pull_at_large_scifi_x_and_a_bias_of_displaced_tracks_stand_out():
    """The errors of these slices are those that gates with `errors` need."""
    sample = make_sample(n=20_000, ghosts=60, bias=0.0)
    rows = sample.rows
    outer = rows.scifi_x.abs() > 1500
    rows.loc[outer, "qopqop"] /= 1.5**2
    rows["true_x"], rows["true_y"] = np.where(np.arange(len(rows)) % 4 == 0, 5.0, 0.0), 0.0
    rows["true_tx"], rows["true_ty"] = 0.0, 0.1
    rows.loc[rows.true_x > 0, "qop"] /= 1.01
    slices = breakdown(sample, cut=2.0)
    inner, outer = (
        [one["pulls"] for one in slices["scifi_x"] if (one["low"] >= 1.5) == far] for far in (0, 1)
    )
    assert len(inner) == 3
    assert len(outer) == 2
    # A bias of a quarter of the tracks widens all of these pulls alike.
    middle = np.mean([pulls["qop"] for pulls in inner])
    for pulls in outer:
        assert pulls["qop_error"] < 0.05
        assert pulls["qop"] / middle == pytest.approx(1.5, abs=0.15)
    prompt, displaced = slices["displacement"]
    assert (prompt["low"], displaced["low"]) == (0, 3)
    assert abs(prompt["bias"]) < 4 * prompt["bias_error"]
    assert displaced["bias"] == pytest.approx(0.01, abs=4 * displaced["bias_error"])


def test_slices_of_p_are_in_gev():
    sample = make_sample(n=6000, ghosts=600, bias=0.0)
    for one in breakdown(sample, cut=2.0)["p"]:
        here = sample.rows.p_true[:6000].between(1000 * one["low"], 1000 * one["high"]).sum()
        # A resolution of half a per cent moves few tracks over the edge of a slice.
        assert one["n"] == pytest.approx(here, abs=10)


def test_losses_by_momentum():
    sample = make_sample(n=4000, ghosts=500)
    rows = sample.rows
    rows.loc[:199, "p_true"] = 1700.0
    rows.loc[:49, "status"] = 64
    rows.loc[100:109, "pdg_id"] = 11  # electrons do not count
    rows.loc[4000:, "status"] = 64  # ghosts do not count either
    found = {one["p_min"]: one for one in losses(sample)}
    assert found[1.5]["n"] == 190
    assert found[1.5]["lost"] == pytest.approx(50 / 190)
    assert found[1.5]["lost_error"] == pytest.approx((0.2644 * 0.7356 / 190) ** 0.5, rel=0.01)
    assert found[20.0]["lost"] == 0.0
    assert 0 < found[20.0]["lost_error"] < 0.001
    assert 1.0 not in found
    assert [one["p_max"] for one in losses(sample)] == [2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0]


SEED = 5
N = 40_000


@pytest.fixture
def tracks():
    """Tracks measured 100 mm before their vertices; position and slope are correlated."""
    print(f"seed {SEED}")
    random = np.random.default_rng(SEED)
    rows = pd.DataFrame({"z": np.zeros(N), "true_z": 100.0})
    pt = 1000 / random.uniform(0.05, 2.9, N)
    rows["true_tx"], rows["true_ty"] = random.normal(0, 0.03, (2, N))
    slope = np.hypot(rows.true_tx, rows.true_ty)
    rows["p_true"] = pt * np.sqrt(1 + slope**2) / slope
    for axis, sigma_x, sigma_t, rho in (("x", 0.02, 3e-4, -0.5), ("y", 0.03, 1e-4, 0.3)):
        a, b = random.normal(size=(2, N))
        rows[f"true_{axis}"] = random.normal(0, 1, N)
        rows[axis] = rows[f"true_{axis}"] + sigma_x * a
        rows[f"t{axis}"] = rows[f"true_t{axis}"] + sigma_t * (rho * a + np.sqrt(1 - rho**2) * b)
        rows[axis * 2], rows[f"t{axis}t{axis}"] = sigma_x**2, sigma_t**2
        rows[f"{axis}t{axis}"] = rho * sigma_x * sigma_t
    return rows


def test_errors_are_carried_to_the_vertex(tracks):
    bins = impact_parameters(tracks)
    assert [one["low"] for one in bins] == list(IMPACT_EDGES[:-1])
    expected = {
        "x": np.hypot(0.02 - 0.5 * 0.03, 0.03 * np.sqrt(0.75)),
        "y": np.hypot(0.033, 0.01 * np.sqrt(0.91)),
    }
    for one in bins:
        for axis, width in expected.items():
            assert one[axis] == pytest.approx(width, abs=5 * one[f"{axis}_error"])
            assert one[f"pull_{axis}"] == pytest.approx(1, abs=5 * one[f"pull_{axis}_error"])
