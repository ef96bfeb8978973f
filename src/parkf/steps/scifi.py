"""Steps into and through the SciFi tracker, whose layers lean: z = plane + lean·y."""

import sympy as sp

from parkf.steps import curved
from parkf.steps.step import Parameter, Step
from parkf.steps.symbols import h, k, parameters, ten, tx, ty, x, y, z0, z1

plane0, plane1, lean0, lean1 = sp.symbols("plane0 plane1 lean0 lean1", real=True)


def _landing(origin: sp.Expr) -> sp.Expr:
    """Give z where the straight line from z = origin meets the target plane."""
    return origin + (plane1 + lean1 * y - origin) / (1 - lean1 * ty)


def _into_scifi() -> Step:
    p = parameters(4)
    dz = z1 - z0
    tx1 = tx + p[1] * h * dz + ten(4) * p[2] * (h * dz) ** 3
    ty1 = ty + p[0] * (k * dz) ** 2
    return Step(
        name="TFT",
        text="z_out to the first SciFi layer",
        sets=("forward",),
        parameters=(
            Parameter("vertical kick", "MeV²/mm²", 0.0),
            Parameter("field", "MeV/mm", -0.03, parity=-1),
            Parameter("field for strongly curved tracks", "1e4 MeV³/mm³", 0.0, parity=-1),
            Parameter("share of the old slope in x", "1", 0.5),
        ),
        outputs={
            "x": x + ((1 - p[3]) * tx1 + p[3] * tx) * dz,
            "y": y + (ty + ty1) / 2 * dz,
            "tx": tx1,
            "ty": ty1,
        },
        surface={z1: _landing(z0)},
    )


def _scifi() -> Step:
    p = parameters(12)
    origin = plane0 + lean0 * y
    return Step(
        name="T",
        text="SciFi layer to SciFi layer",
        sets=tuple(f"gap {gap}, y {side} 0" for gap in range(11) for side in ("≥", "<")),
        parameters=curved.parameters_of(
            Parameter("vertical focusing", "MeV²/mm", 0.0), bend=-0.2, angle=1.35
        ),
        outputs=curved.outputs(p, ty + p[7] * k**2 * y),
        noise=curved.noise(p),
        surface={z0: origin, z1: _landing(origin)},
    )


TFT = _into_scifi()
T = _scifi()
