"""Corrections to the magnet table at z_out, and the scattering from z_in to z_out."""

from functools import partial

import sympy as sp

from parkf.model.steps.step import Numbers, Step, gain, scattering, turned
from parkf.model.steps.symbols import BEFORE, Side, h, k, ten, tx, ty, x, y

_TEXT = "corrections to the magnet table at z_out, and the scattering from z_in to z_out"
_step = partial(Step, "UTTF", _TEXT, ("forward",))
# mm; half size of the opening around the beam pipe in the material behind the UT, with hardly any scattering.
OPENING = 35


def _production() -> Step:
    p = Numbers()
    ty1 = ty + p("ty", "MeV", parity=-1) * h
    for _ in range(2):
        p("not used", "1", kind="free")
    y1 = y + ten(2) * p("y", "1e2 mm MeV", parity=-1) * h
    for _ in range(2):
        p("not used", "1", kind="free")
    tx1 = tx + p("tx, linear", "MeV", parity=-1) * h + ten(5) * p("tx, quadratic", "1e5 MeV²") * k**2
    tx1 += ten(8) * p("tx, cubic", "1e8 MeV³", parity=-1) * h**3
    x1 = x + ten(2) * p("x, linear", "1e2 mm MeV", parity=-1) * h
    x1 += ten(5) * p("x, quadratic", "1e5 mm MeV²") * k**2
    x1 += ten(10) * p("x, cubic", "1e10 mm MeV³", parity=-1) * h**3
    sigma_tx = p("scattering angle in x times momentum", "MeV", 2.84, "noise") * sp.Abs(k)
    sigma_x = ten(2) * p("scattering of x times momentum", "1e2 mm MeV", 100.0, "noise") * sp.Abs(k)
    rho_x = p("correlation of x and tx", "1", 0.87, "noise")
    sigma_ty = p("scattering angle in y times momentum", "MeV", 2.43, "noise") * sp.Abs(k)
    sigma_y = ten(2) * p("scattering of y times momentum", "1e2 mm MeV", 90.0, "noise") * sp.Abs(k)
    rho_y = p("correlation of y and ty", "1", 0.85, "noise")
    # It is degenerate with the next parameter and would ruin the conditioning of the fit, so it stays 0.
    change = p("relative change of q/p before the table", "1e-4", kind="free")
    loss = p("energy lost before the table", "MeV", 17.0, "loss")
    k_here = k * (1 + ten(-4) * change) + k * sp.Abs(k) * loss
    noise = scattering((sigma_x, sigma_y), (sigma_tx, sigma_ty), (rho_x, rho_y))
    return _step(tuple(p.parameters), {"x": x1, "y": y1, "tx": tx1, "ty": ty1}, noise, local_qop=k_here)


def _improved() -> Step:
    """Linear and quadratic corrections, and scattering that depends on the state at z_in."""
    p = Numbers()
    ty1 = ty + p("ty", "MeV", parity=-1) * h
    y1 = y + ten(2) * p("y", "1e2 mm MeV", parity=-1) * h
    tx1 = tx + p("tx, linear", "MeV", parity=-1) * h + ten(5) * p("tx, quadratic", "1e5 MeV²") * k**2
    x1 = x + ten(2) * p("x, linear", "1e2 mm MeV", parity=-1) * h
    x1 += ten(5) * p("x, quadratic", "1e5 mm MeV²") * k**2
    k_here = k * gain(p("energy lost before the bend", "MeV", 17.0, "loss"))
    noise, outputs = _scattering(p), {"x": x1, "y": y1, "tx": tx1, "ty": ty1}
    return _step(tuple(p.parameters), outputs, noise, local_qop=k_here, layout=2)


def _scattering(p: Numbers) -> dict[str, sp.Expr]:
    """Return the scattering from z_in on, as the field changes it, and the spread of the energy loss.

    With N = √(1 + tx² + ty²), the field adds the same amount to every s = tx/N. A turn by dtx at z_in
    therefore becomes (N'/N)³·dtx behind the bend. The field's edges focus, so scattering is in fact nearly
    (N'/N)² times as wide as at z_in. Vertically a turn becomes (N'/N)·dty, and the edges reduce the increase
    by half. For positions, half of the way counts. A loss that differs from the mean by δ turns tx by
    δ·kick·k², for soft tracks as much as scattering does. With Landau's δ, the core widens with k to the
    power 3/2. Two normal widths would widen it less for hard tracks and more for soft ones.
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
    # Here k is in 1/GeV, so that the parameters are of order one.
    growth = (ten(3) * sp.Abs(k)) ** sp.Rational(3, 2)
    sigma_tx = slopes * stretch**2 * angle * turn_x * (1 + spread * growth)
    sigma_x = positions * stretch * shift * turn_x * (1 + spread_x * growth)
    sigma_ty = slopes * sp.sqrt(stretch) * angle_y * turn_y
    sigma_y = positions * shift_y * turn_y
    return scattering((ten(2) * sigma_x, ten(2) * sigma_y), (sigma_tx, sigma_ty), (rho_x, rho_y))


PRODUCTION, IMPROVED = (_production(),), (_improved(),)
