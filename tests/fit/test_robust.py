"""The robust fit removes wrong UT sets and adds noise at hard kicks; all else stays as it is."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import parkf._fitter as _fitter
import pytest
from kalman_toy import generate
from scipy.stats import chi2

from parkf.fit import cpu, fit
from parkf.fit.fitted import INTEGERS, NUMBERS
from parkf.io.errors import ParkfError
from parkf.io.tables import ROBUST
from parkf.model.steps import FORMS

UT_OUT, ENLARGED = 1, 2


def moved(toy, shifts):
    """The toy with hits moved by `shifts`, (n, slots) mm."""
    arrays = toy.arrays | {name: toy.arrays[name] + shift for name, shift in shifts.items()}
    return dataclasses.replace(toy, arrays=arrays)


def kicked(toy, angle):
    """The toy kicked in x by `angle` (n,) behind SciFi's sixth layer; an earlier kick looks like a bend."""
    z = toy.arrays["scifi_z"]
    lever = np.clip(z - z[:, [5]], 0, None)
    return moved(toy, {"scifi_x": angle[:, None] * lever})


@pytest.mark.parametrize("forms", FORMS)
def test_a_wrong_ut_set_is_taken_out(forms):
    """Four hits moved alike agree with each other. The robust fit equals the fit without UT hits."""
    toy = generate(600, 8000.0, seed=3, forms=forms)
    bad = moved(toy, {"ut_x": np.full((600, 4), 6.0)})
    tracks = bad.candidates("float64")
    got = fit(bad.parameters, tracks, precision="float64", robust=True)
    out = (got.more["treated"] & UT_OUT) > 0
    assert out.mean() > 0.99
    without = fit(bad.parameters, moved(toy, {"ut_x": np.full((600, 4), np.nan)}).candidates("float64"))
    alone = got.more["treated"] == UT_OUT
    assert alone.mean() > 0.9
    shift = (got.qop - without.qop)[alone] / np.sqrt(without.qopqop[alone])
    # The positions of the hits still define where the steps end.
    assert np.abs(shift).max() < 0.01
    assert (got.ndof_ut[out] == 0).all()
    assert (got.more["ndof_ut_before"] == 4).all()


def test_chi2_before_is_that_of_the_plain_fit():
    toy = generate(3000, 5000.0, seed=8)
    bad = moved(toy, {"ut_x": np.where(np.arange(3000)[:, None] % 7 == 0, 8.0, 0.0) * np.ones(4)})
    tracks = bad.candidates("float32")
    plain, robust = (
        cpu.fit(bad.parameters, tracks, smoother=True, threads=1, robust=r) for r in (False, True)
    )
    for name in ("chi2_velo", "chi2_ut", "chi2_scifi", "ndof_ut"):
        np.testing.assert_array_equal(robust.more[f"{name}_before"], getattr(plain, name))
    same = robust.more["treated"] == 0
    assert 0.7 < same.mean() < 0.9
    for name in (*NUMBERS, *INTEGERS):
        np.testing.assert_array_equal(getattr(robust, name)[same], getattr(plain, name)[same])


def test_the_output_has_chi2_of_the_plain_fit_and_the_other_under_a_name_that_warns():
    toy = moved(generate(300, 5000.0, seed=8), {"ut_x": np.full((300, 4), 8.0)})
    tracks = toy.candidates("float32")
    plain, robust = (fit(toy.parameters, tracks, robust=r) for r in (False, True))
    out, more = robust.for_output()
    for name in ("chi2_velo", "chi2_ut", "chi2_scifi", "ndof_ut"):
        np.testing.assert_array_equal(getattr(out, name), getattr(plain, name))
        np.testing.assert_array_equal(more[f"{name}_treated"], getattr(robust, name))
    np.testing.assert_array_equal(out.qop, robust.qop)
    assert set(more) == {name for name, _ in ROBUST}
    assert (out.chi2 > robust.chi2).mean() > 0.9
    assert plain.for_output()[1] == {}


def test_clean_tracks_are_rarely_touched():
    """Clean tracks are touched no more often than χ² allows.

    The allowed fractions are P(χ²₄ > 16) for UT sets, and e⁻⁷ for k² above 14 in each of 16 steps. Both hold
    within three errors of 3000 tracks.
    """
    bounds = {UT_OUT: chi2.sf(16, 4), ENLARGED: 16 * np.exp(-7)}
    for momentum in (3000.0, 10000.0, 50000.0):
        toy = generate(3000, momentum, seed=9)
        got = fit(toy.parameters, toy.candidates("float32"), robust=True)
        for bit, bound in bounds.items():
            assert (got.more["treated"] & bit > 0).mean() < bound + 3 * np.sqrt(bound / 3000)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_hard_kick_is_found_where_it_is_and_no_longer_shifts_the_momentum(precision):
    toy = generate(2000, 10000.0, seed=5)
    angle = 4e-3 * np.random.default_rng(4).choice([-1, 1], 2000)
    tracks = kicked(toy, angle).candidates(precision)
    plain, robust = (fit(toy.parameters, tracks, precision=precision, robust=r) for r in (False, True))
    found = (robust.more["treated"] & ENLARGED) > 0
    assert found.mean() > 0.95
    # The kick is behind SciFi layer 5, slot 35: the step to layer 6 is found, or one beside it.
    assert np.isin(robust.more["scattered"][found], (35, 36, 37)).mean() > 0.9
    assert (robust.more["scattered"][~found] == -1).all()
    clean = fit(toy.parameters, toy.candidates(precision), precision=precision)
    shifts = [np.std((f.qop - clean.qop)[found] / np.sqrt(f.qopqop[found])) for f in (plain, robust)]
    assert shifts[1] < 0.5 * shifts[0]
    assert (robust.qopqop[found] > plain.qopqop[found]).mean() > 0.99


def kicked_before_the_ut(toy, axis, angle):
    """The toy kicked in x or y by `angle` (n,) between VELO and UT."""
    shifts = {}
    for detector in ("ut", "scifi"):
        moved_by = angle[:, None] * (toy.arrays[f"{detector}_z"] - 1500.0)
        shifts[f"{detector}_x"] = moved_by if axis == "x" else -toy.arrays[f"{detector}_dxdy"] * moved_by
    return moved(toy, shifts)


def free_to_kick_before_the_ut(parameters, factor=1e4):
    """The set with more noise before the UT, in the direction in which a kick changes position and slope.

    A turn of the track by θ in this step goes with a shift of ρσ_x/σ_t·θ on average. In that direction,
    `factor` − 1 times the variance of the slope is added.
    """
    forms = FORMS["improved"]
    constant = parameters.constant.copy()
    numbers = constant[forms.layout.block_slice("VUT")]
    named = {parameter.text: i for i, parameter in enumerate(forms.steps["VUT"].parameters)}
    for axis in "xy":
        rho = numbers[named[f"correlation of {axis} and t{axis}"]]
        wider = np.sqrt(1 + (factor - 1) * rho**2)
        numbers[named[f"correlation of {axis} and t{axis}"]] = rho * np.sqrt(factor) / wider
        numbers[named[f"scattering angle in {axis} times momentum"]] *= np.sqrt(factor)
        for name, i in named.items():
            if name.startswith(f"scattering in {axis} "):
                numbers[i] *= wider
    return SimpleNamespace(**vars(parameters) | {"constant": constant})


@pytest.mark.parametrize("axis", ["x", "y"])
def test_a_kick_is_hard_when_a_fit_with_a_free_kick_there_is_better_by_14(axis):
    """k² is the decrease of χ² by a free kick. Enlarged noise leaves χ² k²/(1 + k²) above the free kick's."""
    toy = generate(600, 10000.0, seed=5)
    random = np.random.default_rng(1)
    angle = random.choice([-1, 1], 600) * random.uniform(0, 6e-3, 600)
    toy = kicked_before_the_ut(toy, axis, angle)
    tracks = toy.candidates("float64")
    plain, robust = (fit(toy.parameters, tracks, precision="float64", robust=r) for r in (False, True))
    free = fit(free_to_kick_before_the_ut(toy.parameters), tracks, precision="float64")
    chi2_plain, chi2_robust, chi2_free = (
        f.chi2_velo + f.chi2_ut + f.chi2_scifi for f in (plain, robust, free)
    )
    k2 = chi2_plain - chi2_free
    # The step to the first UT layer ends at the first slot behind those of the VELO.
    here = (robust.more["treated"] == ENLARGED) & (robust.more["scattered"] == toy.arrays["velo_x"].shape[1])
    assert 0.3 < here.mean() < 0.7
    assert k2[here].min() > 13
    # A track with a good fit's χ² is not treated, whatever its k².
    assert k2[robust.more["treated"] == 0].max() < 20
    left = (chi2_robust - chi2_free)[here]
    assert left.max() < 3
    assert np.median(left) == pytest.approx(1, abs=0.5)
    # The scattering may have been as hard in the other plane, so that q/p is less certain in either case.
    assert np.median((robust.qopqop / plain.qopqop)[here]) > 1.08


@pytest.mark.parametrize("momentum", [5000.0, 20000.0])
@pytest.mark.parametrize("z", [3000.0, 5200.0, 7700.0])
def test_a_kick_in_the_magnet_widens_the_error_of_the_momentum(z, momentum):
    """Its x looks like another q/p. The hits alone prefer a step beside it, whose noise hardly touches q/p.

    Kicks are as frequent as 1/θ⁴ per solid angle. In their pulls, the tails of hidden ones remain.
    """
    toy, random = generate(3000, momentum, seed=5), np.random.default_rng(8)
    angle = np.minimum(15 / np.sqrt(random.uniform(0, 1, 3000)), 300) / momentum  # 15 to 300 MeV
    turn = random.uniform(0, 2 * np.pi, 3000)
    lever = toy.arrays["scifi_z"] - z
    x, y = ((angle * part)[:, None] * lever for part in (np.cos(turn), np.sin(turn)))
    bad = moved(toy, {"scifi_x": x - toy.arrays["scifi_dxdy"] * y})
    got = fit(bad.parameters, bad.candidates("float32"), robust=True)
    found = (got.more["treated"] & ENLARGED) > 0
    assert found.sum() > 200
    pull = ((got.qop - toy.vertex[:, 4]) / np.sqrt(got.qopqop))[found]
    low, high = np.quantile(pull, (0.1587, 0.8413))
    assert 0.6 < (high - low) / 2 < 1.4
    assert (np.abs(pull) > 5).mean() < 0.1


def test_neither_neighbours_nor_threads_nor_builds_matter():
    """Tracks that are fitted again share registers with arbitrary other tracks."""
    toy = kicked(generate(1000, 4000.0, seed=12), np.where(np.arange(1000) % 3 == 0, 5e-3, 0.0))
    tracks = toy.candidates("float32")
    whole = cpu.fit(toy.parameters, tracks, smoother=True, threads=1, robust=True)
    for rows, threads in ((slice(0, 1000), 3), (slice(176, 723), 1)):
        part = cpu.fit(toy.parameters, tracks.rows(rows), smoother=True, threads=threads, robust=True)
        for name in (*NUMBERS, *INTEGERS):
            np.testing.assert_array_equal(getattr(part, name), getattr(whole, name)[rows])
        for name, values in part.more.items():
            np.testing.assert_array_equal(values, whole.more[name][rows])
    for build in _fitter.builds():
        other = cpu.fit(toy.parameters, tracks, smoother=True, threads=1, robust=True, build=build)
        assert (other.more["treated"] == whole.more["treated"]).mean() > 0.998
        agree = other.more["treated"] == whole.more["treated"]
        shift = (other.qop - whole.qop)[agree] / np.sqrt(whole.qopqop[agree])
        assert np.quantile(np.abs(shift), 0.99) < 0.01


def test_what_cannot_be_fitted_stays_as_the_plain_fit_left_it():
    """All UT hits are wrong here, so every track that can be fitted again loses them."""
    toy = moved(generate(64, 5000.0, seed=2), {"ut_x": np.full((64, 4), 8.0)})
    toy.arrays["velo_n"][3] = 1
    toy.arrays["scifi_x"][5] = np.nan
    toy.arrays["qop"][7] = np.nan
    tracks = toy.candidates("float32")
    plain, got = (fit(toy.parameters, tracks, robust=r) for r in (False, True))
    bad = [3, 5, 7]
    assert (got.more["treated"][bad] == 0).all()
    assert (np.delete(got.more["treated"], bad) & UT_OUT > 0).all()
    for name in (*NUMBERS, *INTEGERS):
        np.testing.assert_array_equal(getattr(got, name)[bad], getattr(plain, name)[bad])
    assert (got.status[bad] != 0).all()


def test_a_set_without_a_score_says_so():
    toy = generate(10, 5000.0, seed=1)
    with pytest.raises(ParkfError, match="it has no ghost score"):
        fit(toy.parameters, toy.candidates("float32"), score=True)
