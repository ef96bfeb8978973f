"""What UT and SciFi steps share: a curved track over a gap, and its scattering."""

import sympy as sp

from parkf.model.steps.step import Parameter, scattering
from parkf.model.steps.symbols import h, k, ten, tx, ty, x, y, z0, z1

dz = z1 - z0


def outputs(p: tuple[sp.Symbol, ...], ty1: sp.Expr) -> dict[str, sp.Expr]:
    """State at z1 for a field that varies with y² and loses strength for strongly curved tracks."""
    tx1 = tx + dz * (ten(-1) * p[4] * h + ten(3) * p[5] * h**3 + ten(-7) * p[6] * y**2 * h)
    return {
        "x": x + (p[0] * tx + (1 - p[0]) * tx1) * dz,
        "y": y + (p[2] * ty + (1 - p[2]) * ty1) * dz,
        "tx": tx1,
        "ty": ty1,
    }


def noise(p: tuple[sp.Symbol, ...]) -> dict[str, sp.Expr]:
    """Scattering with position and slope widths of their own."""
    return scattering(
        (p[1] * sp.Abs(dz * k), p[3] * sp.Abs(dz * k)),
        (p[8] * sp.Abs(k), p[10] * sp.Abs(k)),
        (p[9], p[11]),
    )


def parameters_of(bend_y: Parameter, bend: float, angle: float) -> tuple[Parameter, ...]:
    """Twelve parameters: `bend_y` is p7; `bend` starts p4, `angle` (MeV) the scattering."""
    return (
        Parameter("share of the old slope in x", "1", 0.5),
        Parameter("scattering in x per dz times momentum", "MeV", 0.58 * angle, "noise"),
        Parameter("share of the old slope in y", "1", 0.5),
        Parameter("scattering in y per dz times momentum", "MeV", 0.58 * angle, "noise"),
        Parameter("field", "1e-1 MeV/mm", bend, parity=-1),
        Parameter("field for strongly curved tracks", "1e3 MeV³/mm", 0.0, parity=-1),
        Parameter("change of the field with y²", "1e-7 MeV/mm³", 0.0, parity=-1),
        bend_y,
        Parameter("scattering angle in x times momentum", "MeV", angle, "noise"),
        Parameter("correlation of x and tx", "1", 0.8, "noise"),
        Parameter("scattering angle in y times momentum", "MeV", angle, "noise"),
        Parameter("correlation of y and ty", "1", 0.8, "noise"),
    )
