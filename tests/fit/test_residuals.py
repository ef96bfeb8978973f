"""Residuals and their covariances against a global fit with dense matrices, and against refits."""

import dataclasses

import numpy as np
import pytest
from kalman_reference import ReferenceFit
from kalman_toy import generate

from parkf.fit import fit
from parkf.fit.fitted import INTEGERS, NUMBERS
from parkf.fit.residuals import COORDINATES, SLOTS, fit_residuals
from parkf.io.tables import VELO_SLOTS
from parkf.model.steps import FORMS


class GlobalFit(ReferenceFit):
    """Keeps Jacobians, noise and hits of a track's steps, and makes the joint covariance of all its hits.

    The residuals' covariance is V = R + H·P·Hᵀ, where P is the covariance of the states at all planes from
    scattering alone; start and q/p are free parameters of the fit, with design matrix D. W is then
    V⁻¹ − V⁻¹D(DᵀV⁻¹D + S)⁻¹DᵀV⁻¹, with the seed's weight S on q/p.
    """

    def __init__(self, toy):
        self.chain, self.rows_of, self.numbers = [], [], []
        super().__init__(toy)

    def _carry(self, function, f, q):
        self.chain.append((f, np.broadcast_to(q, (self.n, 5, 5))))
        super()._carry(function, f, q)

    def _forward_velo(self):
        super()._forward_velo()
        # All tracks have as many VELO hits; steps to later slots were not made.
        del self.chain[self.a["velo_n"][0] - 1 :]

    def _keep(self, value, row, variance, number):
        self.rows_of.append((len(self.chain), row, np.isfinite(value), np.broadcast_to(variance, self.n)))
        self.numbers.append(number)

    def _velo_hit(self, slot):
        one = np.tile([1.0, 0, 0, 0, 0], (self.n, 1))
        there = np.where(slot < self.a["velo_n"], 0.0, np.nan)
        self._keep(there, one, self.variance, slot)
        self._keep(there, one[:, [1, 0, 2, 3, 4]], self.variance, VELO_SLOTS + slot)
        return super()._velo_hit(slot)

    def _strip(self, kind, layer, nominal):
        x, z, dxdy, variance = super()._strip(kind, layer, nominal)
        # The step to this layer is made next.
        self._pending = x, dxdy, variance, 2 * VELO_SLOTS + layer + (4 if kind == "scifi" else 0)
        return x, z, dxdy, variance

    def weights(self):
        """W (n, 68, 68); rows without a hit are 0."""
        w = np.zeros((self.n, COORDINATES, COORDINATES))
        for i in range(self.n):
            v, design, numbers = self.covariance(i)
            w[i][np.ix_(numbers, numbers)] = self.projected(i, v, design)[0]
        return w

    def projected(self, i, v, design):
        """W of track i, and log det V + log det(DᵀV⁻¹D + S)."""
        v_inverse = np.linalg.inv(v)
        solved = v_inverse @ design
        information = design.T @ solved
        information[4, 4] += 1 / (0.3 * self.toy.arrays["qop"][i]) ** 2
        size = np.diag([1, 1, 1, 1, 1e-4])  # for determinants of the size of float64
        logs = np.linalg.slogdet(v)[1] + np.linalg.slogdet(size @ information @ size)[1]
        return v_inverse - solved @ np.linalg.solve(information, solved.T), logs

    def covariance(self, i, step=None, factor=1.0):
        """V without start and q/p, the design matrix, and the numbers of the coordinates of track i.

        The noise of one of the steps may be larger by a factor.
        """
        # Transport from the first hit to each plane, and the covariance of the states there.
        to, planes = np.eye(5), [(np.eye(5), np.zeros((5, 5)))]
        cross = [{0: np.zeros((5, 5))}]
        for number, (f, q) in enumerate(self.chain):
            to = f[i] @ to
            before = cross[-1]
            here = {m: f[i] @ c for m, c in before.items()}
            larger = factor if number == step else 1.0
            own = f[i] @ before[len(cross) - 1] @ f[i].T + larger * q[i]
            here[len(cross)] = own
            planes.append((to, own))
            cross.append(here)
        kept = [m for m, (_, _, has, _) in enumerate(self.rows_of) if has[i]]
        h = [self.rows_of[m][1][i] for m in kept]
        at = [self.rows_of[m][0] for m in kept]
        v = np.zeros((len(kept), len(kept)))
        for a in range(len(kept)):
            for b in range(a + 1):
                late, early = (a, b) if at[a] >= at[b] else (b, a)
                c = cross[at[late]][at[early]]
                v[a, b] = v[b, a] = h[late] @ c @ h[early]
            v[a, a] += self.rows_of[kept[a]][3][i]
        design = np.array([h[a] @ planes[at[a]][0] for a in range(len(kept))])
        return v, design, [self.numbers[m] for m in kept]

    def _ut(self):
        self._measured(super()._ut)

    def _scifi(self):
        self._measured(super()._scifi)

    def _measured(self, run):
        """Keep each strip when the joint state is updated with it."""
        measure = self.joint.measure

        def keep(value, row, variance):
            x, _, of, number = self._pending
            self._keep(x, row, of, number)
            return measure(value, row, variance)

        self.joint.measure = keep
        run()
        self.joint.measure = measure


def alike(forms):
    """Some toys with as many VELO hits each."""
    toy = generate(12, 12000.0, seed=4, seed_error=0.0, efficiency=0.9, forms=forms)
    whole = toy.arrays["velo_n"] == np.bincount(toy.arrays["velo_n"]).argmax()
    return dataclasses.replace(toy, arrays={n: a[whole] for n, a in toy.arrays.items()})


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
    assert np.abs(off).max() < 1e-4


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
    # With the better forms, the kernel leaves out small elements of Jacobians, so that W agrees to 1e-4.
    tolerance = {"production": 1e-5, "improved": 1e-4}[forms]
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
