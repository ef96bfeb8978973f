"""Residuals and their covariances against a global fit with dense matrices, and against refits."""

import dataclasses

import numpy as np
import pytest
from kalman_global import GlobalFit, alike
from kalman_toy import generate

from parkf.fit import fit
from parkf.fit.fitted import INTEGERS, NUMBERS
from parkf.fit.residuals import SLOTS, fit_residuals
from parkf.io.tables import VELO_SLOTS
from parkf.model.steps import FORMS


@pytest.mark.parametrize("forms", FORMS)
def test_covariances_are_those_of_a_global_fit(forms):
    """V⁻¹ of the hits by a backward recursion and by inverting the joint covariance of a track's hits."""
    toy = alike(forms)
    _, residuals = fit_residuals(toy.parameters, toy.candidates("float64"), covariances=True)
    expected, got = GlobalFit(toy).weights(), residuals.weights()
    np.testing.assert_array_equal(residuals.has.T, expected.diagonal(axis1=1, axis2=2) != 0)
    # In units of the diagonal, as correlations.
    scale = np.sqrt(expected.diagonal(axis1=1, axis2=2))
    scale = np.where(scale > 0, scale, 1)
    off = (got - expected) / (scale[:, :, None] * scale[:, None, :])
    assert np.abs(off).max() < 1e-6


@pytest.mark.parametrize("forms", FORMS)
@pytest.mark.parametrize(("precision", "tolerance"), [("float32", 3e-3), ("float64", 1e-9)])
def test_fits_are_the_plain_ones(forms, precision, tolerance):
    toy = generate(500, 8000.0, seed=4, efficiency=0.9, forms=forms)
    tracks = toy.candidates(precision)
    plain = fit(toy.parameters, tracks)
    for covariances in (False, True):
        fitted, _ = fit_residuals(toy.parameters, tracks, covariances=covariances)
        for name in NUMBERS[1:6]:
            off = (getattr(fitted, name) - getattr(plain, name)) / np.sqrt(getattr(plain, 2 * name, 1.0))
            assert np.abs(off).max() < tolerance
        for name in NUMBERS[6:]:
            np.testing.assert_allclose(
                getattr(fitted, name), getattr(plain, name), rtol=tolerance, atol=tolerance
            )
        for name in INTEGERS:
            np.testing.assert_array_equal(getattr(fitted, name), getattr(plain, name))


def test_pulls_are_standard_and_residuals_those_without_the_hit():
    toy = generate(4000, 15000.0, seed=6, efficiency=0.95)
    tracks = toy.candidates("float64")
    _, residuals = fit_residuals(toy.parameters, tracks)
    for layer in (*range(4), *range(4, 16)):
        pulls = residuals.pull[2 * VELO_SLOTS + layer]
        pulls = pulls[np.isfinite(pulls)]
        assert abs(pulls.mean()) < 4 / np.sqrt(len(pulls))
        assert pulls.std() == pytest.approx(1, abs=4 / np.sqrt(2 * len(pulls)) + 0.02)
    # χ² is a parabola in the place of a hit: its curvature is the weight, its minimum the unbiased residual.
    for layer in (5, 10):
        number, x = 2 * VELO_SLOTS + 4 + layer, tracks.scifi[0]
        step = np.zeros(x.shape)
        step[:, layer] = 0.01
        up, down = (
            fit(toy.parameters, dataclasses.replace(tracks, scifi=(x + way * step, *tracks.scifi[1:]))).chi2
            for way in (1, -1)
        )
        plain, has = fit(toy.parameters, tracks).chi2, residuals.has[number]
        curvature = ((up + down - 2 * plain) / 0.01**2 / 2)[has]
        np.testing.assert_allclose(curvature, residuals.weight[number][has], rtol=0.02)
        offset = ((up - down) / 0.04)[has] / curvature
        error = 1 / np.sqrt(curvature)
        assert np.quantile(np.abs(offset - residuals.unbiased[number][has]) / error, 0.95) < 0.01


def test_noise_that_is_seen_is_what_the_set_assumes():
    """tr(QW) is the mean of wᵀQw: the toy scatters as the set says."""
    for momentum in (4000.0, 20000.0):
        toy = generate(6000, momentum, seed=7, seed_error=0.0)
        _, residuals = fit_residuals(toy.parameters, toy.candidates("float64"))
        seen, expected = residuals.scatter[:, 0], residuals.scatter[:, 1]
        for slot in (2, *range(VELO_SLOTS, SLOTS)):
            off = seen[slot] - expected[slot]
            assert abs(off.mean()) < 4 * off.std() / np.sqrt(len(off)) + 0.02 * expected[slot].mean()


@pytest.mark.parametrize("forms", FORMS)
def test_derivatives_by_the_noise_are_those_of_finite_differences(forms):
    """With a factor on a step's noise, log det V grows by tr(QW), and χ² falls by wᵀQw."""
    tolerance = 1e-5
    toy = alike(forms)
    _, residuals = fit_residuals(toy.parameters, toy.candidates("float64"))
    whole, velo = GlobalFit(toy), toy.arrays["velo_n"][0]
    # Steps are to VELO slots from 1 on, to UT layers, to z_in, through the magnet, and to SciFi layers.
    steps = {2: 1, 4: 3, 26: velo - 1, 28: velo + 1, 30: velo + 4, 33: velo + 8, 41: velo + 16}
    for slot, step in steps.items():
        for i in range(3):
            (_, design, numbers), eps = whole.covariance(i), 1e-3
            up, down = (whole.covariance(i, step, 1 + way * eps)[0] for way in (1, -1))
            slope = [whole.projected(i, one, design)[1] for one in (up, down)]
            expected = (slope[0] - slope[1]) / (2 * eps)
            w = residuals.w[numbers, i]
            seen = w @ (up - down) @ w / (2 * eps)
            size = abs(expected)
            assert abs(residuals.scatter[slot, 1, i] - expected) < tolerance * size
            # The terms of the sum may cancel.
            terms = np.abs(w) @ np.abs(up - down) @ np.abs(w) / (2 * eps)
            assert abs(residuals.scatter[slot, 0, i] - seen) < tolerance * terms


def test_builds_and_threads_agree():
    toy = generate(1500, 8000.0, seed=4)
    tracks = toy.candidates("float64")
    one, two, slow = (
        fit_residuals(toy.parameters, tracks, covariances=True, **how)[1]
        for how in ({"threads": 1}, {"threads": 2}, {"build": "plain"})
    )
    for name in ("w", "d", "by_k", "state", "scatter", "pairs"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
        size = np.abs(getattr(slow, name)).max()
        np.testing.assert_allclose(getattr(one, name), getattr(slow, name), rtol=1e-6, atol=1e-9 * size)
