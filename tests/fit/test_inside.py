"""Steps inside the magnet: the kernel on fields whose tracks are known, and on the embedded dipole's."""

import dataclasses

import numpy as np
import pytest
from uniform_field import KAPPA, uniform

import parkf._slices as _slices
from parkf.detector.transport import propagate
from parkf.fit.inside import carry_inside
from parkf.io.errors import ParkfError
from parkf.model.steps import slices as formulas
from parkf.params.manifest import Scatterer
from parkf.params.slices import MagnetSlices

FIELD = 0.3  # T, along y
TRACKS = 200
SCIFI = 7826.0  # mm; the first layer
# Positions of the variances in the lower triangle of a covariance.
VARIANCES = (0, 2, 5, 9)


def states(seed=1, count=TRACKS):
    """Tracks at z = 5 m that stay on the grid."""
    random = np.random.default_rng(seed)
    slopes = random.uniform([-0.2, -0.15], [0.2, 0.15], (count, 2))
    place = 5000 * slopes + random.normal(0, 100, (count, 2))
    qop = random.choice([-1, 1], count) / random.uniform(5e3, 5e4, count)
    return np.column_stack([place, slopes, qop])


def test_a_uniform_field_leads_to_circles():
    """tx/N decreases by the curvature times the way; y grows with the length of the arc."""
    start = states()
    end = carry_inside(uniform(FIELD), start, 5000.0, 5900.0, +1)
    x, y, tx, ty, k = start.T
    n = np.sqrt(1 + tx**2 + ty**2)
    u0, v = tx / n, ty / n
    curvature = KAPPA * FIELD * k
    u1 = u0 - curvature * 900.0
    across = np.sqrt(1 - v**2)  # of the direction, in the plane in which the track turns
    # The maps are float32: the bend, of some hundredths, is right to 6e-8.
    np.testing.assert_allclose(end.states[:, 2], u1 / np.sqrt(1 - u1**2 - v**2), atol=2e-9)
    # x = x0 + (cos ψ₁ − cos ψ₀)·across/curvature with sin ψ = u/across.
    cosines = [np.sqrt(1 - (u / across) ** 2) for u in (u0, u1)]
    np.testing.assert_allclose(
        end.states[:, 0], x + (cosines[1] - cosines[0]) * across / curvature, atol=2e-5
    )
    turned = np.arcsin(u0 / across) - np.arcsin(u1 / across)
    np.testing.assert_allclose(end.states[:, 1], y + v / curvature * turned, atol=2e-5)
    assert end.ok.all()
    np.testing.assert_array_equal(end.states[:, 4], k)


def test_the_other_polarity_is_the_other_charge():
    start, other = states(), states() * [1, 1, 1, 1, -1]
    slices = uniform(FIELD)
    up, down = (
        carry_inside(slices, start, 5000.0, 3000.0, +1),
        carry_inside(slices, other, 5000.0, 3000.0, -1),
    )
    np.testing.assert_array_equal(up.states[:, :4], down.states[:, :4])


def from_scifi(slices):
    """Tracks at the first SciFi layer."""
    start = states()
    end = carry_inside(slices, start, 5000.0, SCIFI, +1)
    return end.states[end.ok]


def within(distance, sigma):
    """The 68 % quantile of distances in x over the scattering."""
    return np.quantile(np.abs(distance[:, 0]) / np.maximum(sigma[:, 0], 1e-9), 0.68)


def test_parts_of_a_slice_join(slices):
    """Two hops that meet inside of a slice end where one hop does, and the way back leads to the start."""
    start = from_scifi(slices)
    whole = carry_inside(slices, start, SCIFI, 3000.0, +1)
    middle = carry_inside(slices, start, SCIFI, 3700.0, +1)
    joined = carry_inside(slices, middle.states, 3700.0, 3000.0, +1)
    back = carry_inside(slices, whole.states, 3000.0, SCIFI, +1)
    sigma = np.sqrt(whole.covariances[:, VARIANCES])
    assert within(joined.states - whole.states, sigma) < 1 / 100
    assert within(back.states - start, sigma) < 1 / 100


def test_runge_kutta_agrees_within_the_scattering(slices, field):
    """On tracks of 5 to 50 GeV: 68 % within a tenth of the scattering, Jacobians within a hundredth."""
    start = from_scifi(slices)
    for z in (3000.0, 4100.0, 6400.0):
        there = propagate(field, +1, start, SCIFI, (z, 0.0, 0.0), tolerance=1e-6, jacobian=True)
        ours = carry_inside(slices, start, SCIFI, z, +1)
        sigma = np.sqrt(ours.covariances[:, VARIANCES])
        assert within(ours.states[:, :4] - there.states[:, :4], sigma) < 1 / 10
        units = np.array([1.0, 1.0, 1e-3, 1e-3, 1e-7])
        scale = units / units[:4, None]
        difference = (ours.jacobians - there.jacobian[:, :4]) * scale
        size = there.jacobian[:, :4] * scale
        ratio = np.sqrt((difference**2).sum(axis=(1, 2)) / (size**2).sum(axis=(1, 2)))
        assert np.median(ratio) < 0.01


def test_the_jacobian_is_that_of_numerical_differences():
    """In maps of which only the mean field varies with the place: the others count as constant."""
    random = np.random.default_rng(4)
    maps = np.broadcast_to(
        random.normal(0, 1e-2, (formulas.SLICES, len(formulas.MAPS), 1, 1)),
        (formulas.SLICES, len(formulas.MAPS), *formulas.NODES),
    ).copy()
    maps[:, 0] = -0.3 + 0.1 * random.normal(size=(formulas.SLICES, *formulas.NODES))
    slices = MagnetSlices.of(maps, np.full(formulas.SLICES, -0.3), (), (0.0, 0.0))
    start = states(count=50)
    exact = carry_inside(slices, start, 5000.0, 4200.0, +1).jacobians
    for j, step in enumerate((1e-2, 1e-2, 1e-6, 1e-6, 1e-10)):
        ahead, behind = (
            carry_inside(slices, start + side * step * np.eye(5)[j], 5000.0, 4200.0, +1).states
            for side in (+1, -1)
        )
        numerical = (ahead - behind)[:, :4] / (2 * step)
        size = np.abs(numerical).max(axis=0)
        np.testing.assert_allclose(exact[:, :, j] / size, numerical / size, atol=1e-5)


def test_covariances_are_carried_by_the_jacobian(slices):
    bare = dataclasses.replace(slices, described=slices.described.model_copy(update={"scatterers": []}))
    random = np.random.default_rng(2)
    root = random.normal(size=(TRACKS, 5, 5)) * np.array([0.1, 1.0, 1e-4, 1e-3, 1e-7])[:, None]
    covariance = root @ root.transpose(0, 2, 1)
    lower = np.tril_indices(5)
    end = carry_inside(bare, states(), 5000.0, 3000.0, +1, covariances=covariance[:, lower[0], lower[1]])
    whole = np.concatenate([end.jacobians, np.broadcast_to(np.eye(5)[4:], (TRACKS, 1, 5))], axis=1)
    expected = whole @ covariance @ whole.transpose(0, 2, 1)
    sigma = np.sqrt(expected[:, range(5), range(5)])
    got = end.covariances / (sigma[:, lower[0]] * sigma[:, lower[1]])
    np.testing.assert_allclose(
        got, (expected / (sigma[:, :, None] * sigma[:, None]))[:, lower[0], lower[1]], atol=1e-9
    )


def test_scattering_grows_with_the_way_behind_each_layer():
    """Without a field, along the beam: the sum over layers of (angle/p)² times way², the way and 1."""
    layers = [
        Scatterer(z=z, angle=angle, opening=0.0) for z, angle in ((3000.0, 2.0), (4100.0, 1.0), (6000.0, 3.0))
    ]
    start = np.array([[10.0, 20.0, 0.0, 0.0, 1e-4]])
    slices = uniform(0.0, layers)
    for z_from, z_to, crossed in (
        (2600.0, 5000.0, layers[:2]),
        (7000.0, 3500.0, layers[1:]),
        (3100.0, 4000.0, []),
    ):
        got = carry_inside(slices, start, z_from, z_to, +1).covariances[0]
        for power, element in ((2, 0), (1, 3), (0, 5)):
            expected = sum((one.angle * 1e-4) ** 2 * (z_to - one.z) ** power for one in crossed)
            assert got[element] == pytest.approx(expected, rel=1e-9, abs=1e-30)
    inside = [one.model_copy(update={"opening": 50.0}) for one in layers]
    assert not carry_inside(uniform(0.0, inside), start, 2600.0, 7000.0, +1).covariances.any()


def test_a_result_depends_neither_on_neighbours_nor_on_threads(slices):
    """Tracks of one batch go in both directions, over different ways; each alone has the same bytes."""
    start, z_to = states(), np.linspace(2500, 7800, TRACKS)
    together = carry_inside(slices, start, 5000.0, z_to, +1, threads=2)
    for i in range(0, TRACKS, 37):
        alone = carry_inside(slices, start[i : i + 1], 5000.0, z_to[i], +1, threads=1)
        for name in ("states", "covariances", "jacobians", "ok"):
            np.testing.assert_array_equal(getattr(alone, name)[0], getattr(together, name)[i])


@pytest.mark.parametrize("build", _slices.builds())
def test_every_build_and_precision_agrees(slices, build):
    start = states()
    plain = carry_inside(slices, start, 5000.0, 2500.0, +1, build="plain")
    sigma = np.sqrt(plain.covariances[:, VARIANCES])
    double = carry_inside(slices, start, 5000.0, 2500.0, +1, build=build)
    np.testing.assert_allclose(double.states, plain.states, rtol=1e-10, atol=1e-9)
    single = carry_inside(slices, start.astype(np.float32), 5000.0, 2500.0, +1, build=build)
    assert single.states.dtype == np.float32
    # A hundredth of the scattering; at 50 GeV that is 3 µm in x.
    assert (np.abs(single.states[:, :4] - plain.states[:, :4]) < 0.01 * sigma).all()


def test_tracks_off_the_grid_and_z_outside_are_told(slices):
    start = states()
    start[0, 0] = 4000.0
    start[1] = np.nan
    assert carry_inside(slices, start, 5000.0, 4000.0, +1).ok.tolist() == [False, False] + [True] * (
        TRACKS - 2
    )
    assert not carry_inside(slices, start, 5000.0, 300.0, +1).ok.any()
    assert not carry_inside(slices, start, 8000.0, 5000.0, +1).ok.any()


def test_arrays_that_do_not_fit_together_are_refused(slices):
    start = states()
    for wrong, message in (
        ((start[:, :4], 5000.0, 4000.0, +1), r"shape \(200, 4\), expected \(n, 5\)"),
        ((start, np.zeros(3), 4000.0, +1), r"z_from of shape \(3,\), expected a number or \(200,\)"),
        ((start, 5000.0, 4000.0, [1, -1]), r"polarity of shape \(2,\)"),
    ):
        with pytest.raises(ParkfError, match=message):
            carry_inside(slices, *wrong)
    with pytest.raises(ParkfError, match=r"covariances of shape \(200, 10\), expected \(200, 15\)"):
        carry_inside(slices, start, 5000.0, 4000.0, +1, covariances=np.zeros((TRACKS, 10)))
