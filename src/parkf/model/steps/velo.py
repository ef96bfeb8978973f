"""Steps in the VELO."""

import sympy as sp

from parkf.model.steps.step import Numbers, Step, scattering
from parkf.model.steps.symbols import h, k, ten, tx, ty, x, y, z0, z1


def _velo() -> Step:
    p = Numbers()
    dz = z1 - z0
    stiff = p("scattering angle at infinite momentum", "1e-5 rad", 0.0, "noise")
    angle = p("scattering angle times momentum", "MeV", 1.22, "noise")
    gradient = p("gradient of the fringe field", "1e-5 MeV/mm²", -0.5, parity=-1)
    begin = p("where the fringe field begins, −z", "m", 1.0)
    lever = p("lever of the scattering for the position", "1", 0.58, "noise")
    rho = p("correlation of position and slope", "1", 0.87, "noise")
    tx1 = tx + h * ten(-5) * gradient * dz * (sp.Min(z0, z1) + ten(3) * begin)
    sigma_t = ten(-5) * stiff + angle * sp.Abs(k)
    sigma = lever * sigma_t * sp.Abs(dz)
    return Step(
        name="V",
        text="VELO hit to VELO hit",
        sets=("forward", "backward"),
        parameters=tuple(p.parameters),
        outputs={"x": x + (tx + tx1) / 2 * dz, "y": y + ty * dz, "tx": tx1, "ty": ty},
        noise=scattering((sigma, sigma), (sigma_t, sigma_t), (rho, rho)),
    )


# Its misfit is far below the scattering in the VELO, so all sets of forms use the same form.
PRODUCTION = IMPROVED = (_velo(),)
