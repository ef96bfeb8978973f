"""The step from the VELO to the UT: one kick between two straight lines."""

from functools import partial

import sympy as sp

from parkf.model.steps.step import Numbers, Step, scattering
from parkf.model.steps.symbols import Side, h, k, ten, tx, ty, x, y, z0, z1

dz = z1 - z0
_step = partial(Step, "VUT", "last VELO hit to first UT layer", ("forward",))


def _kicked(kick: sp.Expr, z_kick: sp.Expr, ty1: sp.Expr) -> dict[str, sp.Expr]:
    """Return x and tx at z1: straight lines before and behind z_kick, where the field changes the direction.

    The field changes s = tx/√(1+tx²+ty²) by `kick`, nearly the same for all slopes.
    """
    s1 = tx / sp.sqrt(1 + tx**2 + ty**2) + kick
    tx1 = s1 * sp.sqrt((1 + ty1**2) / (1 - s1**2))
    return {"x": x + (z_kick - z0) * tx + (z1 - z_kick) * tx1, "tx": tx1}


def _production() -> Step:
    p = Numbers()
    ty1 = ty + p("vertical kick at the side of y", "MeV", parity=-1) * h * tx * Side(y)
    angle_y = p("scattering angle in y times momentum", "MeV", 5.4, "noise")
    rho_x = p("correlation of x and tx", "1", 0.8, "noise")
    old = p("share of the old slope in y", "1", 0.5)
    width_y = p("scattering in y per dz times momentum", "MeV", 3.1, "noise")
    kick = 10 * p("transverse kick", "10 MeV", -2.8, parity=-1)
    kick += ten(-2) * p("change of the kick with z0", "1e-2 MeV/mm", parity=-1) * z0
    kick += ten(2) * p("change of the kick with ty²", "1e2 MeV", parity=-1) * ty**2
    angle_x = p("scattering angle in x times momentum", "MeV", 5.4, "noise")
    z_kick = ten(3) * p("z of the kick", "m", 1.9)
    z_kick += ten(-3) * p("change of the kick's z with z0", "1e-3") * z0
    z_kick += ten(-5) * p("change of the kick's z with z0²", "1e-5/mm") * z0**2
    z_kick += ten(3) * p("change of the kick's z with ty²", "m") * ty**2
    width_x = p("scattering in x per dz times momentum", "MeV", 3.1, "noise")
    rho_y = p("correlation of y and ty", "1", 0.8, "noise")
    across = _kicked(h * kick, z_kick, ty1)
    widths = (width_x * sp.Abs(dz * k), width_y * sp.Abs(dz * k))
    return _step(
        parameters=tuple(p.parameters),
        outputs={"x": across["x"], "y": y + (old * ty + (1 - old) * ty1) * dz, "tx": across["tx"], "ty": ty1},
        noise=scattering(widths, (angle_x * sp.Abs(k), angle_y * sp.Abs(k)), (rho_x, rho_y)),
    )


def _improved() -> Step:
    """Return the step whose vertical terms are odd in ty, as Bx and Bz are; the kick varies with tx, too."""
    p = Numbers()
    odd = ((tx * ty, "tx·ty"), (tx**3 * ty, "tx³·ty"), (tx * ty**3, "tx·ty³"))
    # z0 is measured from about the end of the VELO. Measured from 0, the terms in z0 would be nearly
    # degenerate with the constant ones.
    late = ten(-3) * (z0 - 500)
    ty1 = ty + h * sum(p(f"vertical kick, with {n}", "MeV", parity=-1) * term for term, n in odd)
    kick = 10 * p("transverse kick", "10 MeV", -2.8, parity=-1)
    for term, n, unit in (
        (10 * late, "z0 − 0.5 m", "10 MeV/m"),
        (ten(2) * ty**2, "ty²", "1e2 MeV"),
        (ten(3) * tx**2 * ty**2, "tx²·ty²", "1e3 MeV"),
    ):
        kick += p(f"change of the kick with {n}", unit, parity=-1) * term
    z_kick = p("z of the kick", "m", 1.9)
    for term, n, unit in (
        (late, "z0 − 0.5 m", "1"),
        (ty**2, "ty²", "m"),
        (tx**2, "tx²", "m"),
        (10 * tx**2 * ty**2, "tx²·ty²", "10 m"),
    ):
        z_kick += p(f"change of the kick's z with {n}", unit) * term
    y1 = y + ty * dz + h * dz * sum(p(f"vertical shift, with {n}", "MeV", parity=-1) * t for t, n in odd)
    across = _kicked(h * kick, ten(3) * z_kick, ty1)
    # The position of most of the material does not depend on where the track leaves the VELO.
    noise = p.scattering(
        5.4,
        (
            (ten(3), "times momentum", "1e3 mm MeV", 5.3),
            (ten(3) * late, "times momentum, with z0 − 0.5 m", "1e3 mm MeV/m", -0.4),
        ),
    )
    outputs = {"x": across["x"], "y": y1, "tx": across["tx"], "ty": ty1}
    return _step(parameters=tuple(p.parameters), outputs=outputs, noise=noise, layout=2)


PRODUCTION, IMPROVED = (_production(),), (_improved(),)
