import numpy as np
import pytest

from parkf.detector.transport import propagate
from parkf.simulation.pattern.magnet import fit_magnet_model
from parkf.simulation.pattern.velo import Z_REFERENCE

N = 4000


@pytest.fixture(scope="module")
def model(field, geometry):
    return fit_magnet_model(field, geometry)


@pytest.fixture(scope="module")
def rays(field, model):
    """Independent rays: VELO lines, states in the SciFi, slopes at its end and h, for MagDown."""
    random = np.random.default_rng(77)
    tx, ty = random.uniform(-0.25, 0.25, N), random.uniform(-0.2, 0.2, N)
    qop = random.choice([-1, 1], N) / np.exp(random.uniform(np.log(2e3), np.log(5e4), N))
    start = np.column_stack([300 * tx, 300 * ty, tx, ty, qop])
    end = propagate(field, -1, start, 300.0, (model.z_scifi, 0.0, 0.0))
    last = propagate(field, -1, end.states, end.z, (model.z_end, 0.0, 0.0))
    inside = last.ok & end.ok & (np.abs(end.states[:, 0]) < 2500) & (np.abs(end.states[:, 1]) < 2300)
    lines = start[:, :4].copy()
    lines[:, :2] += lines[:, 2:] * (Z_REFERENCE - 300.0)
    return lines[inside], end.states[inside, :4], last.states[inside, 2], -qop[inside]


def test_momentum_from_the_bending_to_a_percent(model, rays):
    lines, _, tx_end, h = rays
    relative = model.h(lines, tx_end) / h - 1
    assert np.sqrt(np.mean(relative**2)) < 0.01
    assert abs(np.median(relative)) < 0.003


def test_the_sign_is_that_of_a_positive_charge_to_positive_x_in_magdown(model):
    # MagDown: h = -q/p.
    assert model.h(np.zeros((1, 4)), np.array([0.2]))[0] < 0


def test_predictions_at_the_scifi(model, rays):
    lines, states, _, h = rays
    p = 1 / np.abs(h)
    x = model.x_at_scifi(lines, states[:, 2]) - states[:, 0]
    y, ty = model.y_at_scifi(lines, states[:, 2])
    # Scattering times p: 28 mm GeV in x, 44 mm GeV in y, 7.6 MeV in ty. The model must be more accurate.
    assert np.quantile(np.abs(x) * p, 0.95) < 28e3
    assert np.quantile(np.abs(y - states[:, 1]) * p, 0.95) < 20e3
    assert np.quantile(np.abs(ty - states[:, 3]) * p, 0.95) < 7.6


def test_shift_at_the_ut(model, rays, field, geometry):
    lines, _, _, h = rays
    start = np.column_stack([lines[:, :2] - lines[:, 2:] * (Z_REFERENCE - 300.0), lines[:, 2:], -h])
    z = geometry.planes()[55, 0]
    end = propagate(field, -1, start, 300.0, (z, 0.0, 0.0))
    straight = lines[:, 0] + lines[:, 2] * (z - Z_REFERENCE)
    difference = end.states[:, 0] - straight - model.x_shift_at_ut(lines, h)[:, 3]
    # Scattering: 8 mm times GeV over p.
    assert np.quantile(np.abs(difference / h), 0.95) < 4e3
