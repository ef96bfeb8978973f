"""What UT and SciFi steps share: a curved track over a gap, and its scattering."""

import sympy as sp

from parkf.model.steps.step import Numbers, scattering
from parkf.model.steps.symbols import h, k, ten, tx, ty, x, y, z0, z1

dz = z1 - z0


def forms(
    p: Numbers, turn: tuple[str, str, int], turned_by: sp.Expr, *, bend: float, angle: float
) -> tuple[dict[str, sp.Expr], dict[str, sp.Expr]]:
    """Return outputs and noise for a field that varies with y² and is weaker for strongly curved tracks.

    Position and slope have scattering widths of their own. `p` declares the twelve parameters. The fit starts
    with `bend` for the field that bends tx, in 0.1 MeV/mm, and `angle` for the scattering, in MeV. A
    parameter with the text, unit and parity `turn`, times `turned_by`, turns ty.
    """
    old_x = p("share of the old slope in x", "1", 0.5)
    width_x = p("scattering in x per dz times momentum", "MeV", 0.58 * angle, "noise")
    old_y = p("share of the old slope in y", "1", 0.5)
    width_y = p("scattering in y per dz times momentum", "MeV", 0.58 * angle, "noise")
    field = p("field", "1e-1 MeV/mm", bend, parity=-1)
    strong = p("field for strongly curved tracks", "1e3 MeV³/mm", parity=-1)
    change = p("change of the field with y²", "1e-7 MeV/mm³", parity=-1)
    text, unit, parity = turn
    ty1 = ty + p(text, unit, parity=parity) * turned_by
    angle_x = p("scattering angle in x times momentum", "MeV", angle, "noise")
    rho_x = p("correlation of x and tx", "1", 0.8, "noise")
    angle_y = p("scattering angle in y times momentum", "MeV", angle, "noise")
    rho_y = p("correlation of y and ty", "1", 0.8, "noise")
    tx1 = tx + dz * (ten(-1) * field * h + ten(3) * strong * h**3 + ten(-7) * change * y**2 * h)
    x1, y1 = x + (old_x * tx + (1 - old_x) * tx1) * dz, y + (old_y * ty + (1 - old_y) * ty1) * dz
    outputs = {"x": x1, "y": y1, "tx": tx1, "ty": ty1}
    widths = (width_x * sp.Abs(dz * k), width_y * sp.Abs(dz * k))
    return outputs, scattering(widths, (angle_x * sp.Abs(k), angle_y * sp.Abs(k)), (rho_x, rho_y))
