"""Steps in the VELO."""

import sympy as sp

from parkf.model.steps.step import Parameter, Step, scattering
from parkf.model.steps.symbols import h, k, parameters, ten, tx, ty, x, y, z0, z1


def _velo() -> Step:
    p = parameters(6)
    dz = z1 - z0
    tx1 = tx + h * ten(-5) * p[2] * dz * (sp.Min(z0, z1) + ten(3) * p[3])
    sigma_t = ten(-5) * p[0] + p[1] * sp.Abs(k)
    sigma = p[4] * sigma_t * sp.Abs(dz)
    return Step(
        name="V",
        text="VELO hit to VELO hit",
        sets=("forward", "backward"),
        parameters=(
            Parameter("scattering angle at infinite momentum", "1e-5 rad", 0.0, "noise"),
            Parameter("scattering angle times momentum", "MeV", 1.22, "noise"),
            Parameter("gradient of the fringe field", "1e-5 MeV/mm²", -0.5, parity=-1),
            Parameter("where the fringe field begins, −z", "m", 1.0),
            Parameter("lever of the scattering for the position", "1", 0.58, "noise"),
            Parameter("correlation of position and slope", "1", 0.87, "noise"),
        ),
        outputs={"x": x + (tx + tx1) / 2 * dz, "y": y + ty * dz, "tx": tx1, "ty": ty},
        noise=scattering((sigma, sigma), (sigma_t, sigma_t), (p[5], p[5])),
    )


# Its misfit is far below the scattering in the VELO, so all sets of forms use the same form.
PRODUCTION = IMPROVED = _velo()
