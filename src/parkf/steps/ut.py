"""Steps between UT layers, and the corrections and noise of the hop through the magnet."""

import sympy as sp

from parkf.steps import curved
from parkf.steps.step import Parameter, Step, scattering
from parkf.steps.symbols import Side, h, k, parameters, ten, tx, ty, x, y


def _ut() -> Step:
    p = parameters(12)
    return Step(
        name="UT",
        text="UT layer to UT layer",
        sets=(*(f"forward {i}→{i + 1}" for i in range(3)), *(f"backward {i + 1}→{i}" for i in range(3))),
        parameters=curved.parameters_of(
            Parameter("vertical kick at the side of y", "MeV", 0.0, parity=-1), bend=-0.5, angle=1.2
        ),
        outputs=curved.outputs(p, ty + p[7] * h * tx * Side(y)),
        noise=curved.noise(p),
    )


def _magnet_corrections() -> Step:
    p = parameters(20)
    return Step(
        name="UTTF",
        text="corrections to the magnet table at z_out, and the scattering from z_in to z_out",
        sets=("forward",),
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
            Parameter("relative change of q/p before the table", "1e-4", 0.0),
            Parameter("energy lost before the table", "MeV", 17.0),
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
    )


UT = _ut()
UTTF = _magnet_corrections()
# q/p at z_in, after the energy loss so far: what the table is asked with.
LOCAL_QOP = k * (1 + ten(-4) * UTTF.symbols[18]) + k * sp.Abs(k) * UTTF.symbols[19]
