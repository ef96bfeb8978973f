"""Straight steps backward in the VELO, as in a beamline fit, and their scattering.

The fit of long tracks uses the scattering alone: with q/p known, its extrapolation is that of the step ``V``.
"""

import sympy as sp

from parkf.model.steps.step import Parameter, Step, scattering
from parkf.model.steps.symbols import Side, k, parameters, tx, ty, x, y, z0, z1


def _beam() -> Step:
    c_ms, eta_xx, eta_xtx, _ = parameters(4)
    dz = z1 - z0
    # In planes the path in material grows as √(1+tx²+ty²), and a turn changes the slope by 1+t² times its
    # angle.
    common = sp.sqrt(c_ms) * sp.Abs(k) * (1 + tx**2 + ty**2) ** sp.Rational(3, 4)
    sigma_tx, sigma_ty = (common * sp.sqrt(1 + t**2) for t in (tx, ty))
    lever = sp.Abs(dz) * eta_xx
    rho = Side(dz) * eta_xtx / eta_xx
    return Step(
        name="BEAM",
        text="VELO hit to VELO hit backward, and first VELO hit to the beam",
        sets=("hit to hit", "hit to beam"),
        parameters=(
            Parameter("scattering angle times momentum, squared", "MeV²", 1.5, "noise"),
            Parameter("lever of the scattering for the position", "1", 0.58, "noise"),
            Parameter("covariance of position and slope", "1", 0.5, "noise"),
            Parameter("mean energy loss, for the record", "MeV", 0.0, "loss"),
        ),
        outputs={"x": x + tx * dz, "y": y + ty * dz, "tx": tx, "ty": ty},
        noise=scattering((lever * sigma_tx, lever * sigma_ty), (sigma_tx, sigma_ty), (rho, rho)),
    )


PRODUCTION = IMPROVED = _beam()
