"""The full fit's cuts between noise and tails, compared with drawn scatterings and collisions."""

import numpy as np
import pytest
from full_material import ANGLE_CUT, ENERGY_CUT, PION, layer_effects, variance_below

from parkf.detector.description import Material
from parkf.proof.validation.core import fit_core

SILICON = 14.0
THIN = 0.0058  # radiation lengths: half a module


def scatterings(random, shape):
    """Draw projected angles and space angles in core widths (mixture of Frühwirth and Liendl)."""
    scatters = THIN * 1.587e7 * np.cbrt(SILICON) / ((SILICON + 1) * np.log(287 / np.sqrt(SILICON)))
    n, rho = SILICON**0.1 * np.log(scatters), 41000 / SILICON ** (2 / 3)
    core = 0.1827 + 0.03803 * n + 5.783e-4 * n**2
    a = np.polyval([-4.59e-5, 1.33e-3, -1.355e-2, 9.828e-2, 0.2822], n)
    b = rho / np.sqrt(scatters * (np.log(rho) - 0.5))
    tail = (1 - core) / (a**2 * (np.log(b / a) - 0.5) - core)
    u = random.random(shape)
    hard = a * b * np.sqrt((1 - u) / (u * b**2 + a**2)) / np.sqrt(core)
    space = np.where(random.random(shape) < tail, hard, np.sqrt(-2 * np.log(u)))
    return space * np.cos(2 * np.pi * random.random(shape)), space


@pytest.mark.parametrize("cut", [2.0, 5.0, 12.0])
def test_variance_of_scatterings_below_a_cut(cut):
    print("seed 41")
    angle, space = scatterings(np.random.default_rng(41), 1_000_000)
    # The formula counts the whole core, including its few angles beyond two widths.
    beyond = 0.0 if cut > 4 else (1 + cut**2 / 2) * np.exp(-(cut**2) / 2)
    expected = variance_below(SILICON, np.array(THIN), np.array(cut))
    assert (angle * (space < cut)).var() == pytest.approx(expected - 0.78 * beyond, rel=0.01)


@pytest.mark.parametrize(("layers", "cut"), [(2, 2.4), (4, 2.4), (16, ANGLE_CUT), (64, ANGLE_CUT)])
def test_cores_of_sums_of_scatterings(layers, cut):
    """The core of a sum is as wide as its scatterings below the cut, which is in units of that width."""
    print("seed 42")
    random = np.random.default_rng(42)
    total = sum(scatterings(random, 100_000)[0] for _ in range(layers))
    width = np.sqrt(layers)
    for _ in range(10):
        width = np.sqrt(layers * variance_below(SILICON, np.array(THIN), cut * width))
    # The cut for many layers would make sums over few layers 3 % too narrow.
    assert fit_core(total).width == pytest.approx(width, rel=0.015)


@pytest.mark.parametrize("scale", [0.03, 0.1])
def test_core_of_a_resolution_with_collisions(scale):
    """Mean and width of the core of a unit Gaussian with losses T, whose spectrum is `scale` / T²."""
    print("seed 43")
    random = np.random.default_rng(43)
    n, least = 400_000, 0.02
    values = random.normal(0.0, 1.0, n)
    hits = random.poisson(scale / least, n)
    np.add.at(values, np.repeat(np.arange(n), hits), least / random.random(hits.sum()))
    core = fit_core(values)
    width = 1.0
    for _ in range(10):
        width = np.sqrt(1 + scale * ENERGY_CUT * width)
    # The best cuts for the mean and for the width are 1.6 to 1.9. A common cut shifts the mean by a tenth of
    # `scale`.
    expected = scale * np.log(ENERGY_CUT * width / least)
    assert core.mean == pytest.approx(expected, abs=0.15 * scale + 3 * core.mean_error)
    assert core.width == pytest.approx(width, rel=0.01)


@pytest.mark.parametrize("momentum", [2000.0, 20_000.0])
def test_mean_and_variance_of_the_loss_are_those_of_its_spectrum(geometry, momentum):
    """The mean is Bethe's less the part of Rutherford's collision spectrum that is cut away."""
    material: Material = geometry.description.materials["silicon"]
    gamma2 = 1 + (momentum / PION) ** 2
    beta2 = 1 - 1 / gamma2
    ratio = 0.51099895 / PION
    most = 2 * 0.51099895 * beta2 * gamma2 / (1 + 2 * np.sqrt(gamma2) * ratio + ratio**2)

    def effects(cut):
        full = np.array([1.0])
        return layer_effects(material, full, momentum * full, PION, hard=full, cut=cut * full, share=1.0)

    scale = 0.1535375 * material.z_over_a * material.density * 0.1 / beta2
    cut = 10.0
    energy = np.geomspace(cut, most, 200_001)
    spectrum = scale * (1 / energy**2 - beta2 / (energy * most))
    lost = effects(2 * most).loss - effects(cut).loss
    assert lost[0] == pytest.approx(np.trapezoid(energy * spectrum, energy), rel=1e-4)
    more = effects(2 * most).variance - effects(cut).variance
    assert more[0] == pytest.approx(np.trapezoid(energy**2 * spectrum, energy), rel=1e-4)
