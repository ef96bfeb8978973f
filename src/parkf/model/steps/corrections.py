"""Corrections to the magnet table at z_out, and the scattering from z_in to z_out."""

import sympy as sp

from parkf.model.steps.step import Numbers, Parameter, Step, after_loss, scattering, turned
from parkf.model.steps.symbols import BEFORE, Side, h, k, parameters, ten, tx, ty, x, y

_NAME = "UTTF"
_TEXT = "corrections to the magnet table at z_out, and the scattering from z_in to z_out"
_SETS = ("forward",)
# Half size, in mm, of the opening around the beam pipe in the material behind the UT; inside it there is
# hardly any scattering.
OPENING = 35


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
            # This parameter is degenerate with the next one and would ruin the conditioning of the fit, so it
            # stays 0.
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
    """Linear and quadratic corrections, and scattering that depends on the state at z_in."""
    p = Numbers()
    ty1 = ty + p("ty", "MeV", parity=-1) * h
    y1 = y + ten(2) * p("y", "1e2 mm MeV", parity=-1) * h
    tx1 = tx + p("tx, linear", "MeV", parity=-1) * h + ten(5) * p("tx, quadratic", "1e5 MeV²") * k**2
    x1 = x + ten(2) * p("x, linear", "1e2 mm MeV", parity=-1) * h
    x1 += ten(5) * p("x, quadratic", "1e5 mm MeV²") * k**2
    k_here, _ = after_loss(p("energy lost before the bend", "MeV", 17.0, "loss"))
    outputs = {"x": x1, "y": y1, "tx": tx1, "ty": ty1}
    noise = _scattering(p)
    return Step(_NAME, _TEXT, _SETS, tuple(p.parameters), outputs, noise, local_qop=k_here, layout=2)


def _scattering(p: Numbers) -> dict[str, sp.Expr]:
    """Return the scattering from z_in on, as the field changes it, and the spread of the energy loss.

    The field adds the same to s = tx/N for any s, with N = √(1 + tx² + ty²). A turn by dtx at z_in therefore
    becomes (N'/N)³·dtx behind the bend, less the focusing of the field's edges; scattering there is nearly
    (N'/N)² times as wide as at z_in. Vertically a turn becomes (N'/N)·dty, and the edges reduce the increase
    by half. For positions, half of the way counts. A loss that differs from the mean by δ turns tx by
    δ·kick·k²: for soft tracks as much as scattering does. With Landau's δ, the core widens with k to the
    power 3/2; two normal widths would widen it less for hard tracks and more for soft ones.
    """
    x_in, y_in, tx_in, ty_in = BEFORE
    before = {tx: tx_in, ty: ty_in}
    turn_x, turn_y = (turned(t).subs(before, simultaneous=True) for t in (tx, ty))
    stretch = sp.sqrt((1 + tx**2 + ty**2) / (1 + tx_in**2 + ty_in**2))
    inside = (1 + Side(sp.Min(OPENING - sp.Abs(x_in), OPENING - sp.Abs(y_in)))) / 2
    angle = p("scattering angle in x times momentum", "MeV", 2.8, "noise")
    spread = p("its growth with the spread of the loss", "GeV^3/2", 0.9, "noise")
    shift = p("scattering of x times momentum", "1e2 mm MeV", 100.0, "noise")
    spread_x = p("its growth with the spread of the loss", "GeV^3/2", 0.5, "noise")
    rho_x = p("correlation of x and tx", "1", 0.87, "noise")
    angle_y = p("scattering angle in y times momentum", "MeV", 2.8, "noise")
    shift_y = p("scattering of y times momentum", "1e2 mm MeV", 100.0, "noise")
    rho_y = p("correlation of y and ty", "1", 0.85, "noise")
    open_angle = p("share of the angles' widths around the beam pipe", "1", 0.6, "noise")
    open_shift = p("share of the positions' widths around the beam pipe", "1", 0.3, "noise")
    slopes = 1 + (open_angle - 1) * inside
    positions = 1 + (open_shift - 1) * inside
    # In GeV, so that the numbers are of order one.
    growth = (ten(3) * sp.Abs(k)) ** sp.Rational(3, 2)
    sigma_tx = slopes * stretch**2 * angle * turn_x * (1 + spread * growth)
    sigma_x = positions * stretch * shift * turn_x * (1 + spread_x * growth)
    sigma_ty = slopes * sp.sqrt(stretch) * angle_y * turn_y
    sigma_y = positions * shift_y * turn_y
    return scattering((ten(2) * sigma_x, ten(2) * sigma_y), (sigma_tx, sigma_ty), (rho_x, rho_y))


PRODUCTION = _production()
IMPROVED = _improved()
