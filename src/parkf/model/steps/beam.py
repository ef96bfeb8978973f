"""Straight steps backward in the VELO, as in a beamline fit, and their scattering.

The fit of long tracks uses only the scattering: it knows q/p, so it extrapolates with the step ``V``.
"""

import sympy as sp

from parkf.model.steps.step import Numbers, Step, scattering, turned
from parkf.model.steps.symbols import Side, tx, ty, x, y, z0, z1


def _beam() -> Step:
    p = Numbers()
    dz = z1 - z0
    angle = sp.sqrt(p("scattering angle times momentum, squared", "MeV²", 1.5, "noise"))
    eta_xx = p("lever of the scattering for the position", "1", 0.58, "noise")
    eta_xtx = p("covariance of position and slope", "1", 0.5, "noise")
    p("mean energy loss, for the record", "MeV", 0.0, "loss")
    sigma_tx, sigma_ty = (angle * turned(t) for t in (tx, ty))
    lever = sp.Abs(dz) * eta_xx
    rho = Side(dz) * eta_xtx / eta_xx
    return Step(
        name="BEAM",
        text="VELO hit to VELO hit backward, and first VELO hit to the beam",
        sets=("hit to hit", "hit to beam"),
        parameters=tuple(p.parameters),
        outputs={"x": x + tx * dz, "y": y + ty * dz, "tx": tx, "ty": ty},
        noise=scattering((lever * sigma_tx, lever * sigma_ty), (sigma_tx, sigma_ty), (rho, rho)),
    )


PRODUCTION = IMPROVED = (_beam(),)
