"""The effect of a layer of material on a fit, in NumPy: scattering and energy loss without rare hard ones."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parkf.detector.description import Material

F64 = NDArray[np.float64]

ELECTRON = 0.51099895  # MeV
PION = 139.57039  # MeV; every track is fitted as a pion
# Losses and scatterings beyond this many errors belong to the tails, and the fit's noise leaves them out.
ENERGY_CUT, ANGLE_CUT, VELO_CUT = 1.8, 1.9, 2.4 * np.sqrt(2.0)


@dataclass(frozen=True)
class Effects:
    """Width of the projected angle (rad); mean (MeV) and variance (MeV²) of the energy loss; (n,) each."""

    angle: F64
    loss: F64
    variance: F64


def layer_effects(
    material: Material, path: F64, momentum: F64, mass: float, *, hard: F64, cut: F64, share: float = 1.0
) -> Effects:
    """Return scattering and energy loss of unit charges in a fraction of a layer.

    `path` is the path through the whole layer in mm; Highland's logarithm uses it. Scatterings beyond the
    space angle `hard` (rad) and collisions that transfer more than `cut` (MeV) are left out.
    """
    gamma2 = 1.0 + (momentum / mass) ** 2
    beta2 = 1.0 - 1.0 / gamma2
    with np.errstate(divide="ignore", invalid="ignore"):
        x = path / material.radiation_length
        core = 13.6 / momentum * np.sqrt(share * x / beta2) * (1.0 + 0.038 * np.log(x / beta2))
        angle = core * np.sqrt(variance_below(material.atomic_number, share * x / beta2, hard / core))
    ratio = ELECTRON / mass
    most = 2.0 * ELECTRON * beta2 * gamma2 / (1.0 + 2.0 * np.sqrt(gamma2) * ratio + ratio**2)
    logarithm = np.log(2.0 * ELECTRON * beta2 * gamma2 * most / (1e-6 * material.excitation) ** 2)
    scale = 0.5 * 0.307075 * material.z_over_a * material.density * 0.1 * share * path / beta2
    bethe = scale * (logarithm - 2.0 * beta2 - _density_effect(material, np.log10(beta2 * gamma2) / 2))
    largest = np.minimum(cut, most)
    # Loss in collisions between the cut and the largest one: the integral of T times the spectrum,
    # scale (1 / T² − β² / (T · T_max)).
    above = scale * (np.log(most / largest) - beta2 * (1.0 - largest / most))
    variance = scale * largest * (1.0 - 0.5 * beta2 * largest / most)
    return Effects(
        np.where(path > 0.0, angle, 0.0), np.maximum(np.maximum(bethe, 0.0) - above, 0.0), variance
    )


def variance_below(charge: float, reduced: F64, cut: F64) -> F64:
    """Variance of a projected angle below a space angle of `cut` core widths, over the core's variance.

    `reduced` is the thickness in radiation lengths over β². The mixture is Frühwirth and Liendl's (Comput.
    Phys. Commun. 141 (2001) 230): the core's angles follow θ exp(−θ²/2), the tail's θ / (θ² + a²)² up to b.
    """
    scatters = (
        np.minimum(reduced, 0.6 / charge**0.6)
        * 1.587e7
        * np.cbrt(charge)
        / ((charge + 1.0) * np.log(287.0 / np.sqrt(charge)))
    )
    n = charge**0.1 * np.log(scatters)
    core = 1.827e-1 + 3.803e-2 * n + 5.783e-4 * n**2
    a = 2.822e-1 + 9.828e-2 * n - 1.355e-2 * n**2 + 1.330e-3 * n**3 - 4.590e-5 * n**4
    rho = 41000.0 / np.cbrt(charge) ** 2
    b = rho / np.sqrt(scatters * (np.log(rho) - 0.5))
    tail = (1.0 - core) / (a**2 * (np.log(b / a) - 0.5) - core)
    reach = cut**2 * core / a**2
    return 1.0 - tail + tail * a**2 / (2.0 * core) * (np.log1p(reach) - reach / (1.0 + reach))


def _density_effect(material: Material, x: F64) -> F64:
    """Sternheimer's δ as a function of `x`, the decimal logarithm of βγ."""
    constants = material.density_effect
    bend = constants.a * np.maximum(constants.x1 - x, 0.0) ** constants.k
    return np.where(x < constants.x0, 0.0, 2.0 * np.log(10.0) * x - constants.c + bend)
