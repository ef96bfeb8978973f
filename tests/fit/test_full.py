"""The full fit is exact without scattering, right with all material, and at the optimum of a global fit."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from full_global import Knowledge, fit_globally

import parkf._full_fit as _full_fit
from parkf.detector.alignment import Alignment
from parkf.detector.description import Description
from parkf.detector.geometry import Geometry
from parkf.detector.transport import propagate
from parkf.fit.fitted import INTEGERS, NUMBERS
from parkf.fit.reference.full import fit_full
from parkf.proof.validation.core import fit_core

from .full_samples import tracks

DATA = Path(__file__).parents[2] / "data"
NAMES = ("x", "y", "tx", "ty", "qop")


def without_material(geometry):
    """The same planes in a detector without scattering or energy loss, sensitive wherever it can be."""
    content = geometry.description.model_dump()
    content["tubes"], content["slabs"] = (), ()
    for part in ("velo", "ut", "scifi"):
        content[part]["thickness"] = 0.0
        content[part]["efficiency"] = 1.0
    for part, noise in (
        ("velo", "noise_per_module"),
        ("ut", "noise_per_layer"),
        ("scifi", "noise_per_layer"),
    ):
        content[part][noise] = 0.0
    # No element is displaced, either.
    content["scifi"]["alignment_error"] = 0.0
    return Geometry(Description.model_validate(content), geometry.frames)


def pulls(fitted, truth):
    at = truth | {"x": truth["tx"] * fitted.z, "y": truth["ty"] * fitted.z}
    return {n: (getattr(fitted, n) - at[n]) / np.sqrt(getattr(fitted, n + n)) for n in NAMES}


@pytest.fixture(scope="module")
def ideal(tmp_path_factory, geometry, field):
    detector = without_material(geometry)
    sample = tracks(tmp_path_factory.mktemp("ideal"), detector, field, events=120, seed=7)
    sample.geometry = detector
    sample.fitted = fit_full(detector, field, sample.candidates, threads=2)
    return sample


def test_without_material_pulls_and_chi2_are_exact(ideal):
    good = ideal.fitted.status == 0
    count = good.sum()
    assert good.mean() > 0.995
    for name, pull in pulls(ideal.fitted, ideal.truth).items():
        assert pull[good].std() == pytest.approx(1.0, abs=4 / np.sqrt(2 * count)), name
        assert pull[good].mean() == pytest.approx(0.0, abs=4 / np.sqrt(count)), name
    for detector in ("velo", "ut", "scifi"):
        chi2, ndof = (getattr(ideal.fitted, f"{what}_{detector}")[good].sum() for what in ("chi2", "ndof"))
        # The UT measures q/p poorly, so the degree of freedom that it loses shows in the SciFi's χ².
        slack = count if detector != "velo" else 0
        assert chi2 == pytest.approx(ndof, abs=slack + 4 * np.sqrt(2 * ndof)), detector
    f = ideal.fitted
    chi2, ndof = (
        sum(getattr(f, f"{w}_{d}")[good].sum() for d in ("velo", "ut", "scifi")) for w in ("chi2", "ndof")
    )
    assert chi2 == pytest.approx(ndof, abs=5 * np.sqrt(2 * ndof))


def test_the_seed_does_not_matter(ideal, field):
    other = replace(ideal.candidates, qop=1.05 * ideal.candidates.qop)
    fitted = fit_full(ideal.geometry, field, other, threads=2)
    for name in NAMES:
        shift = (getattr(fitted, name) - getattr(ideal.fitted, name)) / np.sqrt(getattr(fitted, name * 2))
        assert np.nanquantile(np.abs(shift), 0.99) < 0.05, name


def test_with_material_the_core_is_right(tmp_path, geometry, field):
    sample = tracks(tmp_path, geometry, field, events=120, seed=8)
    fitted = fit_full(geometry, field, sample.candidates, threads=2)
    good = fitted.status == 0
    assert good.mean() > 0.99
    for name, pull in pulls(fitted, sample.truth).items():
        # A covariance cannot describe the tails of scattering and energy loss, but it describes the core.
        core = fit_core(pull[good])
        assert core.width == pytest.approx(1.0, abs=0.03 + 3 * core.width_error), name
    core = fit_core((sample.truth["qop"] / fitted.qop - 1)[good])
    assert core.width < 0.005
    assert core.mean == pytest.approx(0.0, abs=2e-4 + 3 * core.mean_error)


def test_without_errors_the_momentum_stays(tmp_path, geometry, field):
    """The closure uses q/p alone; the errors of its means are 5e-5."""
    sample = tracks(tmp_path, geometry, field, events=60, seed=9)
    fitted, rough = (
        fit_full(geometry, field, sample.candidates, errors=errors, threads=2) for errors in (True, False)
    )
    np.testing.assert_array_equal(rough.status, fitted.status)
    shift = (rough.qop / fitted.qop - 1)[fitted.status == 0]
    assert abs(np.median(shift)) < 1e-5
    assert np.quantile(np.abs(shift), 0.95) < 1e-4


def test_threads_do_not_change_a_bit(ideal, field):
    again = fit_full(ideal.geometry, field, ideal.candidates, threads=1)
    assert_same_bits(again, ideal.fitted)


@pytest.fixture(scope="module")
def real(tmp_path_factory, geometry, field):
    """Tracks of both polarities, some with missing hits, in a detector with material and inclined planes."""
    turned = {"y": 0.2, "rx": 2e-3, "ry": -1e-3, "rz": 1e-3}
    alignment = Alignment.model_validate(
        {
            "tag": "leaning",
            "velo_halves": {"left": {"x": 0.05}},
            "velo_modules": {7: {"ry": 1e-3}},
            "ut_layers": {1: turned},
            "scifi_layers": {4: turned, 9: {"x": -0.1}},
        }
    )
    detector = geometry.align(alignment)
    sample = tracks(tmp_path_factory.mktemp("real"), detector, field, events=16, seed=9)
    random = np.random.default_rng(2)
    for hits in (sample.candidates.ut, sample.candidates.scifi):
        missing = random.random(hits[0].shape) < 0.1
        missing[random.random(len(missing)) < 0.05] = True
        for rows in hits:
            rows[missing] = np.nan
    # With the opposite polarity, the opposite charge has the same trajectory.
    sample.candidates.polarity[1::2] *= -1.0
    sample.candidates.qop[1::2] *= -1.0
    sample.geometry = detector
    return sample


def assert_same_bits(one, other, rows=slice(None)):
    for name in (*NUMBERS, *INTEGERS):
        np.testing.assert_array_equal(getattr(one, name)[rows], getattr(other, name)[rows], err_msg=name)


def test_the_fit_is_at_the_optimum(real, field):
    """Of a global least-squares fit with the same noise, in a detector that leans, with missing hits."""
    one = real.candidates.rows(real.candidates.polarity < 0)
    fitted = fit_full(real.geometry, field, one, threads=2)
    # A pion that scattered off a nucleus is too far from the reference for a filter that is linear about it.
    sound = (fitted.status == 0) & (fitted.ndof_scifi > 0) & (fitted.chi2 < 2 * fitted.ndof)
    good = np.flatnonzero(sound)[:10]
    near = replace(fitted, **{name: getattr(fitted, name)[good] for name in (*NUMBERS, *INTEGERS)})
    states = np.column_stack([getattr(near, name) for name in NAMES])
    behind = propagate(field, -1, states, near.z, (9400.0, 0.0, 0.0)).states[:, 2]
    error = np.sqrt(near.qopqop) / np.abs(near.qop)
    # Where noise ends and tails begin; in the VELO, the filter knows directions by its VELO hits alone.
    in_velo = 0.85 * np.sqrt((near.txtx + near.tyty) / 2)
    knowledge = Knowledge(error, in_velo, error * np.abs(behind - near.tx))
    state, covariance = fit_globally(real.geometry, field, one.rows(good), near, knowledge)
    for i, name in enumerate(NAMES):
        variance = getattr(near, name * 2)
        shift = (getattr(near, name) - state[:, i]) / np.sqrt(variance)
        # The filter is linear about its reference, the optimum is not.
        assert np.abs(shift).max() < 0.05, (name, shift)
        ratio = variance / covariance[:, i, i]
        assert ratio == pytest.approx(1, abs=0.01 if name == "qop" else 0.15), name
        assert np.median(ratio) == pytest.approx(1, abs=0.05), name


@pytest.mark.parametrize("interpolation", ["linear", "cubic"])
def test_all_builds_give_the_same_bits(real, field, interpolation):
    chosen = replace(field, interpolation=interpolation)
    first, *others = (
        fit_full(real.geometry, chosen, real.candidates, threads=2, build=build)
        for build in _full_fit.builds()
    )
    for other in others:
        assert_same_bits(other, first)


def test_a_track_does_not_depend_on_its_neighbours(real, field):
    together = fit_full(real.geometry, field, real.candidates, threads=2)
    order = np.random.default_rng(3).permutation(real.candidates.count)[:101]
    some = fit_full(real.geometry, field, real.candidates.rows(order), threads=2)
    for name in (*NUMBERS, *INTEGERS):
        np.testing.assert_array_equal(getattr(some, name), getattr(together, name)[order], err_msg=name)


def test_no_candidates_give_no_tracks(real, field):
    assert fit_full(real.geometry, field, real.candidates.rows(slice(0, 0))).qop.shape == (0,)


def test_an_unknown_build_is_refused(real, field):
    with pytest.raises(ValueError, match="build 'v9' is unknown"):
        fit_full(real.geometry, field, real.candidates, build="v9")


def test_hits_of_another_shape_are_refused(real, field):
    short = tuple(rows[:, :3] for rows in real.candidates.ut)
    with pytest.raises(ValueError, match=r"expected arrays of hits \(\d+, 4\)"):
        fit_full(real.geometry, field, replace(real.candidates, ut=short))
