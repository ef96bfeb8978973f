"""Corrections to the magnet table at z_out, and the scattering from z_in to z_out."""

import sympy as sp

from parkf.steps.step import Numbers, Parameter, Step, after_loss, scattering
from parkf.steps.symbols import h, k, parameters, ten, tx, ty, x, y

_NAME = "UTTF"
_TEXT = "corrections to the magnet table at z_out, and the scattering from z_in to z_out"
_SETS = ("forward",)


def _production() -> Step:
    p = parameters(20)
    return Step(
        name=_NAME,
        text=_TEXT,
        sets=_SETS,
        parameters=(
            Parameter("ty", "MeV", 0.0, parity=-1),
            Parameter("not used", "1", 0.0, "free"),
            Parameter("not used", "1", 0.0, "free"),
            Parameter("y", "1e2 mm MeV", 0.0, parity=-1),
            Parameter("not used", "1", 0.0, "free"),
            Parameter("not used", "1", 0.0, "free"),
            Parameter("tx, linear", "MeV", 0.0, parity=-1),
            Parameter("tx, quadratic", "1e5 MeV²", 0.0),
            Parameter("tx, cubic", "1e8 MeV³", 0.0, parity=-1),
            Parameter("x, linear", "1e2 mm MeV", 0.0, parity=-1),
            Parameter("x, quadratic", "1e5 mm MeV²", 0.0),
            Parameter("x, cubic", "1e10 mm MeV³", 0.0, parity=-1),
            Parameter("scattering angle in x times momentum", "MeV", 2.84, "noise"),
            Parameter("scattering of x times momentum", "1e2 mm MeV", 100.0, "noise"),
            Parameter("correlation of x and tx", "1", 0.87, "noise"),
            Parameter("scattering angle in y times momentum", "MeV", 2.43, "noise"),
            Parameter("scattering of y times momentum", "1e2 mm MeV", 90.0, "noise"),
            Parameter("correlation of y and ty", "1", 0.85, "noise"),
            # It would only repeat the next one, and ruin the conditioning: it stays 0.
            Parameter("relative change of q/p before the table", "1e-4", 0.0, "free"),
            Parameter("energy lost before the table", "MeV", 17.0, "loss"),
        ),
        outputs={
            "x": x + ten(2) * p[9] * h + ten(5) * p[10] * k**2 + ten(10) * p[11] * h**3,
            "y": y + ten(2) * p[3] * h,
            "tx": tx + p[6] * h + ten(5) * p[7] * k**2 + ten(8) * p[8] * h**3,
            "ty": ty + p[0] * h,
        },
        noise=scattering(
            (ten(2) * p[13] * sp.Abs(k), ten(2) * p[16] * sp.Abs(k)),
            (p[12] * sp.Abs(k), p[15] * sp.Abs(k)),
            (p[14], p[17]),
        ),
        local_qop=k * (1 + ten(-4) * p[18]) + k * sp.Abs(k) * p[19],
    )


def _improved() -> Step:
    """Linear and quadratic corrections, and the spread of the energy loss.

    A loss that differs from the mean by δ turns tx by δ·kick·k²: below 5 GeV as much as scattering does.
    """
    p = Numbers()
    ty1 = ty + p("ty", "MeV", parity=-1) * h
    y1 = y + ten(2) * p("y", "1e2 mm MeV", parity=-1) * h
    tx1 = tx + p("tx, linear", "MeV", parity=-1) * h + ten(5) * p("tx, quadratic", "1e5 MeV²") * k**2
    x1 = x + ten(2) * p("x, linear", "1e2 mm MeV", parity=-1) * h
    x1 += ten(5) * p("x, quadratic", "1e5 mm MeV²") * k**2
    k_here, _ = after_loss(p("energy lost before the bend", "MeV", 17.0, "loss"))
    angle, spread = (
        p("scattering angle in x times momentum", "MeV", 2.5, "noise"),
        p("spread of the loss times kick", "1e3 MeV²", 3.0, "noise"),
    )
    shift, spread_x = (
        p("scattering of x times momentum", "1e2 mm MeV", 90.0, "noise"),
        p("spread of the loss times shift", "1e5 mm MeV²", 90.0, "noise"),
    )
    # With N at z_out, as a compromise: half of the scattering happens before the bend, at smaller slopes.
    turn = sp.Abs(k) * sp.sqrt(1 + tx**2 + ty**2)
    sigma_tx = sp.sqrt((angle * turn) ** 2 + (ten(3) * spread * k**2) ** 2)
    sigma_x = ten(2) * sp.sqrt((shift * turn) ** 2 + (ten(3) * spread_x * k**2) ** 2)
    rho_x = p("correlation of x and tx", "1", 0.87, "noise")
    sigma_ty = p("scattering angle in y times momentum", "MeV", 2.43, "noise") * turn
    sigma_y = ten(2) * p("scattering of y times momentum", "1e2 mm MeV", 90.0, "noise") * turn
    rho_y = p("correlation of y and ty", "1", 0.85, "noise")
    noise = scattering((sigma_x, sigma_y), (sigma_tx, sigma_ty), (rho_x, rho_y))
    outputs = {"x": x1, "y": y1, "tx": tx1, "ty": ty1}
    return Step(_NAME, _TEXT, _SETS, tuple(p.parameters), outputs, noise, local_qop=k_here)


PRODUCTION = _production()
IMPROVED = _improved()
