"""Residuals and their covariances against refits with displaced hits, and against the noise of the set."""

import dataclasses

import numpy as np
import pytest
from kalman_reference import Model, landing
from kalman_toy import generate

from parkf.fit import fit
from parkf.fit.fitted import INTEGERS, NUMBERS
from parkf.fit.residuals import COORDINATES, PACKED, SLOTS, fit_residuals
from parkf.io.planes import UT_LAYERS
from parkf.io.tables import VELO_SLOTS
from parkf.model.steps import FORMS


def displaced(toy, shift):
    """Candidates whose coordinates, in the order of residuals, are displaced by `shift` (68,)."""
    parts = np.split(shift, np.cumsum((VELO_SLOTS, VELO_SLOTS, UT_LAYERS)))
    moved = zip(("velo_x", "velo_y", "ut_x", "scifi_x"), parts, strict=True)
    arrays = toy.arrays | {name: toy.arrays[name] + by for name, by in moved}
    return dataclasses.replace(toy, arrays=arrays).candidates("float64")


@pytest.mark.parametrize("forms", FORMS)
def test_covariances_are_those_of_displaced_hits(forms):
    """W is the derivative of w by the places of hits, but for the little that the noise depends on them."""
    toy = generate(200, 12000.0, seed=4, efficiency=0.9, forms=forms)
    _, residuals = fit_residuals(toy.parameters, toy.candidates("float64"), covariances=True)
    # With q/p free, W is less than V⁻¹ at given q/p.
    scaled = residuals.by_k.T * np.sqrt(residuals.qop_variance)[:, None]
    expected = residuals.packed()[:, PACKED] - scaled[:, :, None] * scaled[:, None, :]
    size = np.sqrt(expected.diagonal(axis1=1, axis2=2))
    np.testing.assert_array_equal(residuals.has.T, size > 0)
    for number in (0, 1, 2, 26, 28, 52, 55, 56, 61, 67):
        shift = np.where(np.arange(COORDINATES) == number, 1e-3, 0.0)
        up, down = (fit_residuals(toy.parameters, displaced(toy, way * shift))[1].w for way in (1, -1))
        both = (size > 0) & (size[:, [number]] > 0)
        off = ((up - down).T / 2e-3 - expected[:, number])[both] / (size * size[:, [number]])[both]
        assert np.abs(off).max() < 0.03
        assert np.quantile(np.abs(off), 0.95) < 0.01
        assert np.median(np.abs(off)) < 1e-3


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
        pulls = (residuals.w / np.sqrt(residuals.weight))[2 * VELO_SLOTS + layer]
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
        assert (
            np.quantile(np.abs(offset - (residuals.w / residuals.weight)[number][has]) / error, 0.95) < 0.01
        )


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
def test_noise_of_a_step_is_that_of_its_formula(forms):
    toy = generate(500, 12000.0, seed=4, seed_error=0.0, forms=forms)
    fitted, residuals = fit_residuals(toy.parameters, toy.candidates("float64"), covariances=True)
    model, a = Model(toy.parameters), toy.arrays
    before = np.column_stack([*residuals.state[-2], fitted.qop])
    lean = 1 / model.block("TLayer")[1]
    z = a["scifi_z"][:, 10] + lean[10] * before[:, 1]
    steps = {
        2: ("V", 0, a["velo_z"][:, 1], a["velo_z"][:, 2]),
        VELO_SLOTS + 1: ("UT", 0, a["ut_z"][:, 0], a["ut_z"][:, 1]),
        SLOTS - 1: (
            "T",
            model.gap_row(10, before[:, 1]),
            z,
            landing(before, z, a["scifi_z"][:, 11], lean[11]),
        ),
    }
    for slot, (name, row, *planes) in steps.items():
        # Before the magnet the fit takes the q/p of the seed.
        state = np.column_stack([*residuals.state[slot - 1], fitted.qop if name == "T" else a["qop"]])
        expected = model.noise_matrix(name, row, state, a["polarity"], *planes)
        expected = expected[:, (0, 0, 2, 1, 1, 3), (0, 2, 2, 1, 3, 3)].T
        off = residuals.noise[slot] / expected - 1
        assert np.quantile(np.abs(off), 0.95) < (0.05 if name == "T" else 1e-3), name
    # The last hit alone is behind the last step.
    q = residuals.noise[-1, 0] + residuals.dxdy[-1] ** 2 * residuals.noise[-1, 3]
    np.testing.assert_allclose(residuals.scatter[-1, 0], residuals.w[-1] ** 2 * q, rtol=1e-9)
    np.testing.assert_allclose(residuals.scatter[-1, 1], residuals.weight[-1] * q, rtol=1e-9)


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
