"""The kernel agrees with the independent fit, and with the truth of tracks that follow its model."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import parkf._fitter as _fitter
import pytest
from kalman_reference import COMPONENTS, ReferenceFit
from kalman_toy import generate

from parkf.fit import cpu, explain_status, fit
from parkf.fit.fitted import INTEGERS, NUMBERS
from parkf.io.errors import ParkfError
from parkf.io.workers import forked_map
from parkf.model.steps import FORMS

STATE = ("x", "y", "tx", "ty", "qop")


@pytest.fixture(scope="module")
def toys():
    return {p: generate(4000, p, seed=int(p)) for p in (3000.0, 10000.0, 50000.0)}


def shift(a, b, name):
    """Difference of a and b in units of the uncertainty."""
    return (getattr(a, name) - getattr(b, name)) / np.sqrt(getattr(b, name * 2))


# The reference differentiates terms that improved forms treat as local, which shifts results by a few percent
# of the uncertainty.
@pytest.mark.parametrize(("forms", "tolerance"), [("production", 3e-4), ("improved", 0.1)])
@pytest.mark.parametrize(("momentum", "efficiency"), [(2000.0, 1.0), (80000.0, 0.8)])
def test_fit_is_the_textbooks(momentum, efficiency, forms, tolerance):
    toy = generate(150, momentum, seed=7, seed_error=0.05, efficiency=efficiency, forms=forms)
    expected = ReferenceFit(toy)
    got = fit(toy.parameters, toy.candidates("float64"), precision="float64")
    # The reference differs in two ways: it starts from a prior of 10 mm and 3 rad instead of two hits (a
    # slope of 0.25 has a χ² of 0.006), and it differentiates numerically.
    for name in STATE:
        assert np.abs(shift(got, expected, name)).max() < tolerance, name
    for name in (*COMPONENTS, "qopqop"):
        np.testing.assert_allclose(
            getattr(got, name), getattr(expected, name), rtol=tolerance / 2, err_msg=name
        )
    for name in ("chi2_velo", "chi2_ut", "chi2_scifi"):
        np.testing.assert_allclose(getattr(got, name), getattr(expected, name), rtol=tolerance / 2, atol=0.02)
    assert not got.status.any()


@pytest.mark.parametrize(("momentum", "forms"), [(2500.0, "improved"), (50000.0, "production")])
def test_small_terms_left_out_of_jacobians_cost_nothing(momentum, forms):
    """Jacobians of levers and bend alone give gains and covariances as good as whole Jacobians do."""
    toy = generate(300, momentum, seed=8, efficiency=0.9, forms=forms)
    kept, complete = ReferenceFit(toy), ReferenceFit(toy, complete=True)
    for name in STATE:
        shifts = shift(kept, complete, name)
        assert np.sqrt(np.mean(shifts**2)) < 0.01, name
        assert np.abs(shifts).max() < 0.05, name
        np.testing.assert_allclose(getattr(kept, name * 2), getattr(complete, name * 2), rtol=1e-3)


def test_smoother_has_unit_pulls(toys):
    for momentum, toy in toys.items():
        pulls = toy.pulls(fit(toy.parameters, toy.candidates("float64"), precision="float64"))
        for name, pull in pulls.items():
            # Statistical errors for 4000 tracks: 0.011 on the width, 0.016 on the mean.
            assert np.std(pull) == pytest.approx(1, abs=0.04), (momentum, name)
            assert np.mean(pull) == pytest.approx(0, abs=0.06), (momentum, name)


def test_chi2_follows_its_degrees_of_freedom(toys):
    toy = toys[10000.0]
    result = fit(toy.parameters, toy.candidates("float32"))
    chi2 = result.chi2_velo + result.chi2_ut + result.chi2_scifi
    ndof = result.ndof_velo + result.ndof_ut + result.ndof_scifi
    np.testing.assert_array_equal(result.ndof_velo, 2 * toy.arrays["velo_n"] - 4)
    np.testing.assert_array_equal(result.ndof_ut, 4)
    np.testing.assert_array_equal(result.ndof_scifi, 11)
    assert chi2.sum() / ndof.sum() == pytest.approx(1, abs=0.02)
    for part in ("velo", "ut", "scifi"):
        ratio = getattr(result, f"chi2_{part}").sum() / getattr(result, f"ndof_{part}").sum()
        assert ratio == pytest.approx(1, abs=0.05), part


@pytest.mark.parametrize(("without", "left"), [("ut", "scifi"), ("scifi", "ut")])
def test_without_hits_of_one_detector_the_other_pays_for_qop(toys, without, left):
    toy = toys[10000.0]
    nothing = np.full_like(toy.arrays[f"{without}_x"], np.nan)
    toy = dataclasses.replace(toy, arrays=toy.arrays | {f"{without}_x": nothing})
    result = fit(toy.parameters, toy.candidates("float32"))
    np.testing.assert_array_equal(getattr(result, f"ndof_{without}"), 0)
    np.testing.assert_array_equal(getattr(result, f"ndof_{left}"), {"ut": 3, "scifi": 11}[left])
    chi2, ndof = getattr(result, f"chi2_{left}").sum(), getattr(result, f"ndof_{left}").sum()
    assert chi2 / ndof == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_all_builds_agree(toys, precision):
    toy = toys[10000.0]
    tracks = toy.candidates(precision)
    results = [
        cpu.fit(toy.parameters, tracks, smoother=True, threads=1, build=build) for build in _fitter.builds()
    ]
    for result in results[:-1]:
        for name in STATE:
            tolerance = 0.02 if precision == "float32" else 1e-9
            assert np.abs(shift(result, results[-1], name)).max() < tolerance, name
        np.testing.assert_array_equal(result.status, results[-1].status)
        np.testing.assert_array_equal(result.ndof_scifi, results[-1].ndof_scifi)


def test_a_track_does_not_know_its_neighbours(toys):
    """The bytes do not depend on the batch, the position in it, the threads, or other tracks' seeds."""
    toy = toys[3000.0]
    seeds = toy.arrays["qop"].copy()
    seeds[::7] *= -1
    toy = dataclasses.replace(toy, arrays={**toy.arrays, "qop": seeds})
    whole = fit(toy.parameters, toy.candidates("float32"), threads=2)
    for chosen in (slice(0), slice(1), slice(15), slice(17), slice(37, 1061)):
        part = dataclasses.replace(toy, arrays={n: a[chosen] for n, a in toy.arrays.items()})
        alone = fit(part.parameters, part.candidates("float32"), threads=1)
        for name in (*NUMBERS, *INTEGERS):
            np.testing.assert_array_equal(getattr(alone, name), getattr(whole, name)[chosen])


def test_threads_that_stay_are_anyones_and_no_childs(toys):
    """Concurrent callers share the threads; a forked child starts its own."""
    toy = toys[10000.0]
    tracks = toy.candidates("float32")

    def fitted(threads):
        return dataclasses.astuple(cpu.fit(toy.parameters, tracks, smoother=True, threads=threads))

    alone = fitted(1)

    def again(_):
        return all(map(np.array_equal, fitted(3), alone))

    with ThreadPoolExecutor(4) as callers:
        assert all(callers.map(again, range(40)))
    assert all(forked_map(again, range(4), workers=2))
    assert again(None)
    tasks = Path("/proc/self/task")
    if tasks.exists():
        assert list(forked_map(lambda _: again(_) and len(list(tasks.iterdir())), [0], workers=1)) == [3]


def spoiled(toy, **changes):
    arrays = {name: np.array(array[:64]) for name, array in toy.arrays.items()}
    for name, (index, value) in changes.items():
        arrays[name][index] = value
    return dataclasses.replace(toy, arrays=arrays)


ALL_MISSING = ((3, slice(None)), np.nan)


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"velo_z": ((3, slice(None)), 100.0)}, 16),
        ({"qop": (3, 1 / 900), "ut_x": ALL_MISSING, "scifi_x": ALL_MISSING}, 8),
        ({"velo_x": ((3, slice(None)), np.arange(26) * 25 * 0.8), "ut_x": ALL_MISSING}, 4),
    ],
)
@pytest.mark.parametrize(("scheme", "forms"), [("smoother", "improved"), ("trigger", "production")])
def test_status_names_the_bad_track_and_spares_the_others(scheme, forms, change, status):
    some = generate(64, 3000.0, seed=3000, forms=forms)
    good = fit(some.parameters, spoiled(some).candidates("float32"), scheme=scheme)
    toy = spoiled(some, **change)
    result = fit(toy.parameters, toy.candidates("float32"), scheme=scheme)
    assert result.status[3] & status, explain_status(int(result.status[3]))
    others = np.arange(64) != 3
    np.testing.assert_array_equal(result.x[others], good.x[others])
    np.testing.assert_array_equal(result.status[others], good.status[others])


def test_hits_of_one_z_at_the_start_are_passed_over(toys):
    """Two hits in one module have no slope. The start uses the first later hit that has one."""
    toy = spoiled(toys[10000.0])
    for name in ("velo_x", "velo_y", "velo_z"):
        a = toy.arrays[name]
        a[:, 1:] = a[:, :-1].copy()
    toy.arrays["velo_n"] += 1
    result = fit(toy.parameters, toy.candidates("float64"), precision="float64")
    expected = fit(toy.parameters, spoiled(toys[10000.0]).candidates("float64"), precision="float64")
    np.testing.assert_allclose(result.x, expected.x, rtol=1e-12)
    np.testing.assert_array_equal(result.ndof_velo, expected.ndof_velo)


def test_other_formulas_are_refused(toys):
    toy = generate(3, 5000.0, seed=1)
    toy.parameters.manifest.formulas = "0" * 64
    with pytest.raises(ParkfError, match=r"formulas 000000000000…, expected"):
        fit(toy.parameters, toy.candidates("float32"))


@pytest.mark.parametrize("option", ["scheme", "precision", "backend", "origin"])
def test_unknown_options_are_refused(toys, option):
    toy = toys[3000.0]
    with pytest.raises(ParkfError, match=f"{option} 'best': expected one of"):
        fit(toy.parameters, toy.candidates("float32"), **{option: "best"})


def test_a_score_is_given_where_it_is_asked_for_and_the_set_has_one():
    toy = generate(20, 5000.0, seed=1)
    tracks = toy.candidates("float32")
    network = np.random.default_rng(5).normal(size=_fitter.score["numbers"]).astype(np.float32)
    for score in (None, SimpleNamespace(numbers=network)):
        toy.parameters.score = score
        for asked in ({}, {"score": False}, {"score": True}):
            got = cpu.fit(toy.parameters, tracks, smoother=True, threads=1, **asked).more
            assert bool(got) == (score is not None and asked == {"score": True})


def test_the_last_gap_of_the_ut_leads_on_to_the_magnet():
    """The fit uses the last gap's numbers behind the last layer. In this test they differ from all others."""
    toy = generate(150, 5000.0, seed=7, seed_error=0.05)
    layout = FORMS["improved"].layout
    gaps = toy.parameters.constant[layout.block_slice("UT")].reshape(layout.block("UT").shape)
    gaps[2] = np.where(np.arange(gaps.shape[1]) == 0, 3 * gaps[2], gaps[2])
    expected = ReferenceFit(toy)
    got = fit(toy.parameters, toy.candidates("float64"), precision="float64")
    assert np.abs(shift(got, expected, "qop")).max() < 0.1
