"""Steps in the VELO and from the VELO to the UT."""

import sympy as sp

from parkf.steps.step import Parameter, Step, scattering
from parkf.steps.symbols import Side, h, k, parameters, ten, tx, ty, x, y, z0, z1

dz = z1 - z0


def _velo() -> Step:
    p = parameters(6)
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


def _velo_to_ut() -> Step:
    p = parameters(15)
    ty1 = ty + p[0] * h * tx * Side(y)
    # The field turns the transverse momentum share s = tx/√(1+tx²+ty²), nearly whatever the slopes.
    kick = h * (10 * p[5] + ten(-2) * p[6] * z0 + ten(2) * p[7] * ty**2)
    s1 = tx / sp.sqrt(1 + tx**2 + ty**2) + kick
    tx1 = s1 * sp.sqrt((1 + ty1**2) / (1 - s1**2))
    z_kick = ten(3) * p[9] + ten(-3) * p[10] * z0 + ten(-5) * p[11] * z0**2 + ten(3) * p[12] * ty**2
    return Step(
        name="VUT",
        text="last VELO hit to first UT layer",
        sets=("forward",),
        parameters=(
            Parameter("vertical kick at the side of y", "MeV", 0.0, parity=-1),
            Parameter("scattering angle in y times momentum", "MeV", 5.4, "noise"),
            Parameter("correlation of x and tx", "1", 0.8, "noise"),
            Parameter("share of the old slope in y", "1", 0.5),
            Parameter("scattering in y per dz times momentum", "MeV", 3.1, "noise"),
            Parameter("transverse kick", "10 MeV", -2.8, parity=-1),
            Parameter("change of the kick with z0", "1e-2 MeV/mm", 0.0, parity=-1),
            Parameter("change of the kick with ty²", "1e2 MeV", 0.0, parity=-1),
            Parameter("scattering angle in x times momentum", "MeV", 5.4, "noise"),
            Parameter("z of the kick", "m", 1.9),
            Parameter("change of the kick's z with z0", "1e-3", 0.0),
            Parameter("change of the kick's z with z0²", "1e-5/mm", 0.0),
            Parameter("change of the kick's z with ty²", "m", 0.0),
            Parameter("scattering in x per dz times momentum", "MeV", 3.1, "noise"),
            Parameter("correlation of y and ty", "1", 0.8, "noise"),
        ),
        outputs={
            "x": x + (z_kick - z0) * tx + (z1 - z_kick) * tx1,
            "y": y + (p[3] * ty + (1 - p[3]) * ty1) * dz,
            "tx": tx1,
            "ty": ty1,
        },
        noise=scattering(
            (p[13] * sp.Abs(dz * k), p[4] * sp.Abs(dz * k)),
            (p[8] * sp.Abs(k), p[1] * sp.Abs(k)),
            (p[2], p[14]),
        ),
    )


V = _velo()
VUT = _velo_to_ut()
