"""What a layer of material does to a fit, in NumPy: width of the scattering and mean loss of energy."""

import numpy as np
from numpy.typing import NDArray

from parkf.detector.description import Material

F64 = NDArray[np.float64]

ELECTRON = 0.51099895  # MeV


def layer_effects(
    material: Material, path: F64, momentum: F64, mass: float, *, share: float = 1.0
) -> tuple[F64, F64]:
    """Projected width of the scattering (Highland) and mean loss (Bethe) in a share of a layer; unit charges.

    `path` is that through the whole layer in mm, which Highland's logarithm is about.
    """
    gamma2 = 1.0 + (momentum / mass) ** 2
    beta2 = 1.0 - 1.0 / gamma2
    with np.errstate(divide="ignore", invalid="ignore"):
        x = path / material.radiation_length
        angle = 13.6 / momentum * np.sqrt(share * x / beta2) * (1.0 + 0.038 * np.log(x / beta2))
    ratio = ELECTRON / mass
    most = 2.0 * ELECTRON * beta2 * gamma2 / (1.0 + 2.0 * np.sqrt(gamma2) * ratio + ratio**2)
    logarithm = np.log(2.0 * ELECTRON * beta2 * gamma2 * most / (1e-6 * material.excitation) ** 2)
    scale = 0.5 * 0.307075 * material.z_over_a * material.density * 0.1 * share * path / beta2
    loss = scale * (logarithm - 2.0 * beta2 - _density_effect(material, np.log10(beta2 * gamma2) / 2))
    return np.where(path > 0.0, angle, 0.0), np.maximum(loss, 0.0)


def _density_effect(material: Material, x: F64) -> F64:
    """Sternheimer's δ of the decimal logarithm of βγ."""
    constants = material.density_effect
    bend = constants.a * np.maximum(constants.x1 - x, 0.0) ** constants.k
    return np.where(x < constants.x0, 0.0, 2.0 * np.log(10.0) * x - constants.c + bend)
