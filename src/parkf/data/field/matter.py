"""Mean loss of momentum, and width of the scattering, in a layer: as the full fit has them in C++."""

import numpy as np

from parkf.detector.description import Material
from parkf.detector.frame import Floats

_ELECTRON = 0.51099895  # MeV
_HALF_K = 0.5 * 0.307075  # MeV cm² / mol


def momentum_loss(material: Material, length: Floats, p: Floats, mass: Floats, cut: Floats) -> Floats:
    """Mean loss of momentum (n,) in MeV, by collisions that cost no more than `cut` MeV each.

    `length` is in mm, `p` and `mass` in MeV, (n,) each. The formulas are Bethe's with Sternheimer's density
    effect, and the rate of hard collisions (PDG, Passage of particles through matter, 34.2).
    """
    energy2 = p**2 + mass**2
    beta2, gamma2, ratio = p**2 / energy2, energy2 / mass**2, _ELECTRON / mass
    most = 2 * _ELECTRON * beta2 * gamma2 / (1 + 2 * np.sqrt(gamma2) * ratio + ratio**2)
    scale = _HALF_K * material.z_over_a * material.density * 0.1 * length / beta2
    effect, x = material.density_effect, 0.5 * np.log10(beta2 * gamma2)
    density = 2 * np.log(10) * x - effect.c + effect.a * np.maximum(effect.x1 - x, 0.0) ** effect.k
    density = np.where(x < effect.x0, 0.0, density)
    excitation = 1e-6 * material.excitation
    bethe = np.log(2 * _ELECTRON * beta2 * gamma2 * most / excitation**2) - 2 * beta2 - density
    share = np.minimum(cut, most) / most
    energy = np.maximum(scale * (bethe + np.log(share) + beta2 * (1 - share)), 0.0)
    return np.asarray(energy / np.sqrt(beta2))


def scattering(material: Material, length: Floats, p: Floats, mass: Floats) -> Floats:
    """Width (n,) of the projected angle, in rad: Highland's formula; 0 where `length` is 0."""
    reduced = length / material.radiation_length / (p**2 / (p**2 + mass**2))
    there = np.maximum(reduced, 1e-12)
    return np.where(reduced > 0, 13.6 / p * np.sqrt(there) * (1 + 0.038 * np.log(there)), 0.0)
