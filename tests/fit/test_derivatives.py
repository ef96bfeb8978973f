"""Derivatives of what a fit says with respect to its detector, by finite differences of an independent fit.

The independent fit is a global one with dense matrices, in float64. They agree to 1e-5 of the largest entry.
"""

import numpy as np
import pytest
from kalman_global import GlobalFit, alike

from parkf.data.elements import FREEDOMS, Elements, derivatives
from parkf.detector.geometry import load_geometry
from parkf.fit.residuals import fit_residuals
from parkf.io.project import PROJECT
from parkf.model.steps import FORMS

STEP = 1e-4


@pytest.fixture(scope="module")
def geometry():
    return load_geometry(PROJECT / "data/geometry/run3.yaml")


def fitted_with(toy):
    tracks = toy.candidates("float64")
    return tracks, *fit_residuals(toy.parameters, tracks, covariances=True)


@pytest.mark.parametrize("forms", FORMS)
def test_residuals_are_those_of_the_global_fit(forms):
    toy = alike(forms, 40, seed_error=0.02)
    _, fitted, residuals = fitted_with(toy)
    w, k = GlobalFit(toy).pulled()
    assert np.abs(w - residuals.w).max() < 2e-6 * np.abs(w).max()
    np.testing.assert_allclose(k, fitted.qop, rtol=1e-6)


@pytest.mark.parametrize("forms", FORMS)
def test_by_the_errors_of_hits(forms):
    """With a factor on a hit's variance R, log det V grows by R·W, and χ² falls by R·w²."""
    toy = alike(forms)
    _, _, residuals = fitted_with(toy)
    whole = GlobalFit(toy)
    for i in range(3):
        _, design, numbers = whole.covariance(i)
        for number in np.array(numbers)[[2, 5, 20, -14, -9, -1]]:
            up, down = (whole.covariance(i, factor=1 + way * STEP, hit=number)[0] for way in (1, -1))
            slope = [whole.projected(i, one, design)[1] for one in (up, down)]
            expected = (slope[0] - slope[1]) / (2 * STEP)
            size = residuals.variance[number, i]
            assert size * residuals.weight[number, i] == pytest.approx(expected, rel=1e-5)
            # χ² at its minimum, and with it all that the fit leaves free.
            chi2 = [chi2_of(whole, i, one, design) for one in (up, down)]
            expected = -(chi2[0] - chi2[1]) / (2 * STEP)
            assert size * residuals.w[number, i] ** 2 == pytest.approx(expected, rel=1e-5, abs=1e-5)


def chi2_of(whole, i, v, design):
    """χ² of track i with covariance v, at the best start and q/p."""
    residual = whole.residual(i)
    w, k = whole.solved(i, v, design, residual)
    return w @ v @ w + ((k - whole.a["qop"][i]) / (0.3 * whole.a["qop"][i])) ** 2


@pytest.mark.parametrize("forms", FORMS)
def test_by_shifts_and_rotations(forms, geometry):
    """w of hits of displaced elements grows by W·A: in the linear system of the fit, by solving it anew."""
    toy, elements = alike(forms), Elements.of(geometry)
    tracks, fitted, residuals = fitted_with(toy)
    element, slopes = derivatives(tracks, fitted, residuals, elements)
    weights, whole = residuals.weights(), GlobalFit(toy)
    for i in range(3):
        v, design, numbers = whole.covariance(i)
        for chosen in (element[4, i], 53, 60):
            for n in range(len(FREEDOMS)):
                shift = np.where(element[:, i] == chosen, slopes[:, n, i], 0.0)
                up, down = (
                    whole.solved(i, v, design, whole.residual(i) + way * shift[numbers])[0] for way in (1, -1)
                )
                expected, got = (up - down) / 2, (weights[i] @ shift)[numbers]
                assert np.abs(got - expected).max() < 1e-5 * np.abs(expected).max()
