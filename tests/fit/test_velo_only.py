"""The VELO-only fit of tracks that scatter according to its own model."""

from types import SimpleNamespace

import numpy as np
import pytest

from parkf.fit.candidates import from_arrays
from parkf.fit.reference.velo_only import fit_velo_only
from parkf.model.steps import FORMS

SIGMA, BEAM_X, BEAM_Y = 0.0125, 0.02, -0.03
# Rows: from hit to hit, and from hit to beam. Columns: c_ms, then eta_xx and eta_xtx, which are the lever and
# the covariance of a layer in the middle.
BLOCK = np.array([[1.5, 0.58, 0.5, 0.0], [6.0, 0.9, 0.85, 0.0]], dtype=np.float32)
N = 20_000


def parameters():
    constants = SimpleNamespace(velo_sigma=SIGMA, beam_x=BEAM_X, beam_y=BEAM_Y)
    manifest = SimpleNamespace(constants=constants, forms="improved", formulas=FORMS["improved"].hash())
    return SimpleNamespace(block=lambda name: BLOCK, manifest=manifest)


def scatter(random, row, qop, tx, ty, t, dz):
    """Shifts of position and slope over dz, by reference formulas instead of the project's code."""
    c_ms, eta_xx, eta_xtx, _ = BLOCK[row]
    sigma = np.sqrt(c_ms) * np.abs(qop) * (1 + tx**2 + ty**2) ** 0.75 * np.sqrt(1 + t**2)
    rho = np.sign(dz) * eta_xtx / eta_xx
    a, b = random.normal(size=(2, len(qop)))
    return sigma * np.abs(dz) * eta_xx * a, sigma * (rho * a + np.sqrt(1 - rho**2) * b)


def toy(momentum, hits=8, seed=3):
    """Candidates, and their true (x, tx, y, ty) at any z near the beam line."""
    random = np.random.default_rng(seed)
    qop = np.full(N, 1 / momentum)
    tx, ty = random.uniform(0.02, 0.2, (2, N))
    z = 400.0 + 25 * np.arange(hits)
    lines = []
    arrays = {}
    for name, slope, t0 in (("x", tx, tx), ("y", ty, ty)):
        x, t = 400 * slope + random.normal(0, 0.1, N), t0.copy()
        slots = np.full((N, 26), np.nan)
        for slot in range(hits - 1, -1, -1):
            if slot < hits - 1:
                dx, dt = scatter(random, 0, qop, tx, ty, t0, np.full(N, -25.0))
                x, t = x - 25 * t + dx, t + dt
            slots[:, slot] = random.normal(x, SIGMA)
        arrays[f"velo_{name}"] = slots
        lines.append((x, t))
    arrays["velo_z"] = np.where(np.isfinite(arrays["velo_x"]), np.append(z, np.zeros(26 - hits)), np.nan)
    nothing = {f"ut_{n}": np.full((N, 4), np.nan) for n in ("x", "z", "dxdy", "sigma")}
    nothing |= {f"scifi_{n}": np.full((N, 12), np.nan) for n in ("x", "z", "dxdy", "sigma")}
    arrays |= {"polarity": np.ones(N), "qop": qop, "velo_n": np.full(N, hits), **nothing}
    return arrays, lines, (tx, ty), qop, random


@pytest.mark.parametrize("momentum", [2000.0, 10_000.0, 100_000.0])
def test_pulls_have_width_one(momentum):
    arrays, lines, (tx, ty), qop, random = toy(momentum)
    fitted = fit_velo_only(parameters(), from_arrays(arrays, np.float64))
    assert (fitted.status == 0).all()
    for name, (x, t), t0 in (("x", lines[0], tx), ("y", lines[1], ty)):
        dz = fitted.z - 400.0
        dx, dt = scatter(random, 1, qop, tx, ty, t0, dz)
        for component, truth in ((name, x + t * dz + dx), (f"t{name}", t + dt)):
            pull = (getattr(fitted, component) - truth) / np.sqrt(getattr(fitted, component * 2))
            assert pull.std() == pytest.approx(1.0, abs=0.02), component
            assert pull.mean() == pytest.approx(0.0, abs=0.03), component
    assert fitted.chi2_velo.mean() == pytest.approx(12, abs=0.2)
    assert (fitted.ndof_velo == 12).all()
    assert not fitted.ndof_scifi.any()
    # q/p remains the pattern recognition's, which has an error of 1 %.
    np.testing.assert_array_equal(fitted.qop, 1 / momentum)
    np.testing.assert_allclose(np.sqrt(fitted.qopqop), 0.01 / momentum)


def test_the_state_is_where_the_line_comes_nearest_to_the_beam():
    arrays, *_ = toy(50_000.0)
    fitted = fit_velo_only(parameters(), from_arrays(arrays, np.float64))
    along = (fitted.x - BEAM_X) * fitted.tx + (fitted.y - BEAM_Y) * fitted.ty
    assert np.abs(along / np.hypot(fitted.tx, fitted.ty)).max() < 1e-9


def test_bad_input_is_flagged_and_harms_no_neighbour():
    arrays, *_ = toy(5000.0)
    good = fit_velo_only(parameters(), from_arrays(arrays, np.float64))
    arrays["velo_n"][3] = 1
    arrays["qop"][5] = np.nan
    arrays["velo_x"][7, 2] = np.nan
    fitted = fit_velo_only(parameters(), from_arrays(arrays, np.float64))
    assert fitted.status[3] & 16
    assert fitted.status[5] == 1 | 1024
    assert fitted.status[7] == 1
    others = np.delete(np.arange(N), [3, 5, 7])
    assert np.array_equal(fitted.x[others], good.x[others])


def test_two_hits_know_a_slope_with_their_errors_over_their_distance():
    """At 10 TeV nothing scatters, and nothing else is known about the slope."""
    arrays, *_ = toy(1e7, hits=2)
    fitted = fit_velo_only(parameters(), from_arrays(arrays, np.float64))
    np.testing.assert_allclose(np.sqrt(fitted.txtx), np.sqrt(2) * SIGMA / 25, rtol=1e-3)
    np.testing.assert_allclose(np.sqrt(fitted.tyty), np.sqrt(2) * SIGMA / 25, rtol=1e-3)
