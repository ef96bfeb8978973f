"""Derivatives of what a fit says with respect to its detector, by finite differences of an independent fit.

The independent fit is a global one with dense matrices, in float64. They agree to 1e-5 of the largest entry.
"""

import dataclasses

import numpy as np
import pytest
from kalman_global import GlobalFit, alike, changed
from kalman_toy import generate
from mille import read_mille

from parkf.detector.geometry import load_geometry
from parkf.fit.alignment.derivatives import (
    FREEDOMS,
    Elements,
    by_field,
    derivatives,
    displacement,
    on_track,
    unscattered,
)
from parkf.fit.alignment.millepede import FIELD_LABEL, Mille, label
from parkf.fit.fitted import is_good
from parkf.fit.residuals import START, fit_residuals
from parkf.io.project import PROJECT
from parkf.io.tables import VELO_SLOTS
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


@pytest.mark.parametrize("forms", FORMS)
def test_by_the_field(forms):
    """Of the hits that are predicted at given q/p, by global fits of tracks without scattering."""
    toy = alike(forms, 40, seed_error=0.02)
    tracks, fitted, residuals = fitted_with(toy)
    got = by_field(toy.parameters, tracks, fitted, residuals)
    still = unscattered(toy.parameters, tracks, fitted, residuals)
    _, here = fit_residuals(toy.parameters, still, covariances=True)
    assert np.nanmax(np.abs(here.pull)) < 1e-4
    (up, k_up), (down, k_down) = (
        GlobalFit(
            changed(toy, dataclasses.replace(still, polarity=still.polarity * (1 + way * STEP)))
        ).pulled()
        for way in (1, -1)
    )
    whole = GlobalFit(changed(toy, still))
    for i in range(len(k_up)):
        v, design, numbers = whole.covariance(i)
        by_k = design[:, 4] * (k_up - k_down)[i] / (2 * STEP)
        expected = -(v @ (up - down)[numbers, i]) / (2 * STEP) - by_k
        # Up to what the track's start takes up, which leaves the first two hits in place.
        first = [numbers.index(one) for one in START]
        expected -= design[:, :4] @ np.linalg.solve(design[first, :4], expected[first])
        assert np.abs(got[numbers, i] - expected).max() < 1e-5 * np.abs(expected).max()
    # A stronger field bends as a larger q/p does, but for the energy loss.
    alike_q = fitted.qop * displacement(residuals, residuals.by_k)
    assert np.abs(got - alike_q).max() < 0.02 * np.abs(got).max()


@pytest.mark.parametrize("forms", FORMS)
def test_of_whole_fits(forms, geometry):
    """What the fit does anew with displaced hits, by the same in the independent fit."""
    toy, elements = alike(forms, seed_error=0.02), Elements.of(geometry)
    tracks, fitted, residuals = fitted_with(toy)
    element, slopes = derivatives(tracks, fitted, residuals, elements)
    for chosen in ({"ut_layers 1 x": 1.0}, {"scifi_layers 5 x": 1.0, "scifi_layers 8 z": -0.5}):
        got = on_track(toy.parameters, tracks, elements, chosen)
        moved = np.zeros_like(residuals.w)
        for name, size in chosen.items():
            number, freedom = divmod(elements.parameters.index(name), len(FREEDOMS))
            moved += size * np.where(element == number, slopes[:, freedom], 0.0)
        ut, scifi = moved[2 * VELO_SLOTS :][:4].T, moved[2 * VELO_SLOTS + 4 :].T
        (up, k_up), (down, k_down) = (
            GlobalFit(
                changed(
                    toy,
                    dataclasses.replace(
                        tracks,
                        ut=(tracks.ut[0] + way * 1e-3 * ut, *tracks.ut[1:]),
                        scifi=(tracks.scifi[0] + way * 1e-3 * scifi, *tracks.scifi[1:]),
                    ),
                )
            ).pulled()
            for way in (1, -1)
        )
        expected = (up - down) / 2e-3
        assert np.abs(got["w"] - expected).max() < 1e-5 * np.abs(expected).max()
        slope = (k_up - k_down) / 2e-3
        assert np.abs(got["qop"] - slope).max() < 1e-5 * np.abs(slope).max()
        # The linear system of the alignment leaves out that states and noise are evaluated anew.
        linear = np.einsum("nij,jn->in", residuals.weights(), moved)
        assert np.abs(got["w"] - linear).max() < 0.02 * np.abs(linear).max()
        close = on_track(toy.parameters, tracks, elements, chosen, step=5e-4)
        assert np.abs(close["chi2"] - got["chi2"]).max() < 1e-5 * np.abs(got["chi2"]).max()


def solved(path, count):
    """Displacements and the field's scale as Millepede finds them from a file: q/p of each record is free."""
    matrix, vector = np.zeros((count + 1, count + 1)), np.zeros(count + 1)
    for words, labels in read_mille(path):
        begins = np.flatnonzero(labels == 0)[::2]
        value, local, rows = np.zeros(len(begins)), np.zeros(len(begins)), np.zeros((len(begins), count + 1))
        for n, (begin, end) in enumerate(zip(begins, [*begins[1:], len(words)], strict=True)):
            sigma = begin + 1 + int(np.argmin(labels[begin + 1 : end] != 0))
            value[n], local[n] = words[begin] / words[sigma], words[begin + 1] / words[sigma]
            for word, one in zip(words[sigma + 1 : end], labels[sigma + 1 : end], strict=True):
                rows[n, count if one == FIELD_LABEL else one - 1] += word / words[sigma]
        free = np.eye(len(value)) - np.outer(local, local) / (local @ local)
        matrix += rows.T @ free @ rows
        vector += rows.T @ free @ value
    return matrix, vector


@pytest.mark.parametrize("forms", FORMS)
def test_records_have_the_signs_of_millepede(forms, geometry, tmp_path):
    """A layer at larger x by 0.1 mm, and a field stronger by 2 %, are found by the file's records alone."""
    elements, path = Elements.of(geometry), tmp_path / "mille.bin"
    shift, field, number = 0.1, 0.02, 52 + 4 + 5
    toy = generate(300, 12000.0, seed=3, seed_error=0.0, forms=forms, field=1 + field)
    tracks = toy.candidates("float64")
    # A hit of a layer that stands at larger x than assumed is reconstructed at smaller x.
    x = tracks.scifi[0].copy()
    x[:, 5] -= shift
    tracks = dataclasses.replace(tracks, scifi=(x, *tracks.scifi[1:]))
    fitted, residuals = fit_residuals(toy.parameters, tracks, covariances=True)
    with Mille(path, elements) as mille:
        mille.write(toy.parameters, tracks, fitted, residuals, is_good(fitted.status))
    matrix, vector = solved(path, len(elements.parameters))
    chosen = [label(number, "x") - 1, len(elements.parameters)]
    covariance = np.linalg.inv(matrix[np.ix_(chosen, chosen)])
    found = covariance @ vector[chosen]
    assert found[0] == pytest.approx(shift, abs=4 * np.sqrt(covariance[0, 0]))
    assert np.sqrt(covariance[0, 0]) < 0.1 * shift
    # The pattern recognition's q/p, here the truth, is all that tells the field from q/p.
    assert found[1] == pytest.approx(field, rel=0.15)
