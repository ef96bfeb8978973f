"""The step from the VELO to the UT: one kick between two straight lines."""

import sympy as sp

from parkf.model.steps.step import Numbers, Parameter, Step, scattering
from parkf.model.steps.symbols import Side, h, k, parameters, ten, tx, ty, x, y, z0, z1

dz = z1 - z0
_NAME, _TEXT, _SETS = "VUT", "last VELO hit to first UT layer", ("forward",)


def _kicked(kick: sp.Expr, z_kick: sp.Expr, ty1: sp.Expr) -> dict[str, sp.Expr]:
    """Return x and tx at z1: straight lines before and behind z_kick, where the field changes the direction.

    The field changes s = tx/√(1+tx²+ty²) by `kick`, nearly the same for all slopes.
    """
    s1 = tx / sp.sqrt(1 + tx**2 + ty**2) + kick
    tx1 = s1 * sp.sqrt((1 + ty1**2) / (1 - s1**2))
    return {"x": x + (z_kick - z0) * tx + (z1 - z_kick) * tx1, "tx": tx1}


def _production() -> Step:
    p = parameters(15)
    ty1 = ty + p[0] * h * tx * Side(y)
    kick = h * (10 * p[5] + ten(-2) * p[6] * z0 + ten(2) * p[7] * ty**2)
    z_kick = ten(3) * p[9] + ten(-3) * p[10] * z0 + ten(-5) * p[11] * z0**2 + ten(3) * p[12] * ty**2
    across = _kicked(kick, z_kick, ty1)
    return Step(
        name=_NAME,
        text=_TEXT,
        sets=_SETS,
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
            "x": across["x"],
            "y": y + (p[3] * ty + (1 - p[3]) * ty1) * dz,
            "tx": across["tx"],
            "ty": ty1,
        },
        noise=scattering(
            (p[13] * sp.Abs(dz * k), p[4] * sp.Abs(dz * k)),
            (p[8] * sp.Abs(k), p[1] * sp.Abs(k)),
            (p[2], p[14]),
        ),
    )


def _improved() -> Step:
    """Vertical terms odd in ty, as Bx and Bz are; the kick and its position vary with tx too."""
    p = Numbers()
    odd = ((tx * ty, "tx·ty"), (tx**3 * ty, "tx³·ty"), (tx * ty**3, "tx·ty³"))
    # z0 is taken relative to about the end of the VELO. Around 0 instead, the terms in z0 would be nearly
    # degenerate with the constant ones.
    late = ten(-3) * (z0 - 500)
    ty1 = ty + h * sum(p(f"vertical kick, with {n}", "MeV", parity=-1) * term for term, n in odd)
    kick = h * sum(
        p("transverse kick" if n == "1" else f"change of the kick with {n}", unit, start, parity=-1) * term
        for term, n, unit, start in (
            (sp.Integer(10), "1", "10 MeV", -2.8),
            (10 * late, "z0 − 0.5 m", "10 MeV/m", 0.0),
            (ten(2) * ty**2, "ty²", "1e2 MeV", 0.0),
            (ten(3) * tx**2 * ty**2, "tx²·ty²", "1e3 MeV", 0.0),
        )
    )
    z_kick = ten(3) * sum(
        p("z of the kick" if n == "1" else f"change of the kick's z with {n}", unit, start) * term
        for term, n, unit, start in (
            (sp.Integer(1), "1", "m", 1.9),
            (late, "z0 − 0.5 m", "1", 0.0),
            (ty**2, "ty²", "m", 0.0),
            (tx**2, "tx²", "m", 0.0),
            (10 * tx**2 * ty**2, "tx²·ty²", "10 m", 0.0),
        )
    )
    y1 = y + ty * dz + h * dz * sum(p(f"vertical shift, with {n}", "MeV", parity=-1) * t for t, n in odd)
    across = _kicked(kick, z_kick, ty1)
    # The position of most of the material does not depend on where the track leaves the VELO.
    noise = p.scattering(
        5.4,
        (
            (ten(3), "times momentum", "1e3 mm MeV", 5.3),
            (ten(3) * late, "times momentum, with z0 − 0.5 m", "1e3 mm MeV/m", -0.4),
        ),
    )
    return Step(
        name=_NAME,
        text=_TEXT,
        sets=_SETS,
        parameters=tuple(p.parameters),
        outputs={"x": across["x"], "y": y1, "tx": across["tx"], "ty": ty1},
        noise=noise,
        layout=2,
    )


PRODUCTION = _production()
IMPROVED = _improved()
