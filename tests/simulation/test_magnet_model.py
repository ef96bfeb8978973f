import numpy as np
import pytest

from parkf.detector.description import Description
from parkf.detector.geometry import UT_PLANES, geometry_of
from parkf.detector.transport import propagate
from parkf.io.kinds import KINDS
from parkf.simulation.pattern.magnet import _carry_rays, fit_magnet_model
from parkf.simulation.pattern.seed import first_h
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
    steep = np.abs(lines[:, 2]) > 0.2
    for some, width, shift in ((slice(None), 0.006, 0.0015), (steep, 0.011, 0.004)):
        assert np.sqrt(np.mean(relative[some] ** 2)) < width
        assert abs(np.median(relative[some])) < shift


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


def test_segments_bend_and_point_back_as_the_model_says(model, rays):
    """Where lines behind the magnet cross z = 0, in x for each h, and how fast their slope still changes."""
    _, states, tx_end, h = rays
    chord = states[:, 0] - states[:, 2] * model.z_scifi
    assert (chord * h).sum() / (h**2).sum() == pytest.approx(model.chord_per_h, rel=0.06)
    assert np.quantile(np.abs(chord / h), 0.99) == pytest.approx(model.chord, rel=0.1)
    # x = … + c·dz² + c·ratio·dz³ behind the middle.
    dz = model.z_end - model.z_scifi
    turned = tx_end - states[:, 2]
    expected = model.curvature * chord * (2 * dz + 3 * model.cubic_ratio * dz**2)
    assert (turned * expected).sum() / (expected**2).sum() == pytest.approx(1, abs=0.25)


def test_the_first_momentum_of_an_upstream_track_is_that_of_its_bend_before_the_ut(model, rays, geometry):
    """Hits without errors: on the line in the VELO, and beside it in the UT's strips."""
    lines, _, _, h = (values[:50] for values in rays)
    z = np.concatenate([np.arange(100.0, 700.0, 100.0), geometry.planes()[UT_PLANES, 0]])
    x, y = (lines[:, [i]] + lines[:, [i + 2]] * (z - Z_REFERENCE) for i in (0, 1))
    dxdy = np.array([0.0] * 6 + [geometry.strip_slope(plane) for plane in UT_PLANES])
    x[:, 6:] += model.x_shift_at_ut(lines, h)
    columns = {"x": x - dxdy * y, "y": y, "z": z + 0 * x, "dxdy": dxdy + 0 * x}
    row = np.arange(x.size).reshape(x.shape)
    hits = {name: values.ravel() for name, values in columns.items()}
    found = first_h(KINDS["upstream"], hits, {"velo": row[:, :6], "ut": row[:, 6:]}, model)
    np.testing.assert_allclose(found, h, rtol=1e-5)


def test_rays_stay_in_the_scifi(field, geometry):
    content = geometry.description.model_dump(mode="json", exclude_unset=True)
    content["scifi"]["layers"][-1] |= {"half_width": 2000.0, "half_height": 1500.0}
    _, _, x, y = _carry_rays(field, geometry_of(Description.model_validate(content)))
    assert len(x) > 1000
    assert 1800 < np.abs(x[:, -1]).max() < 2000
    assert 1400 < np.abs(y[:, -1]).max() < 1500
