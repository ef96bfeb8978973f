"""Steps between UT layers."""

import sympy as sp

from parkf.model.steps import curved, gap
from parkf.model.steps.gap import X, Y
from parkf.model.steps.step import Numbers, Parameter, Step
from parkf.model.steps.symbols import Side, h, parameters, tx, ty, y

_NAME, _TEXT = "UT", "UT layer to UT layer"
_SETS = (*(f"forward {i}→{i + 1}" for i in range(3)), *(f"backward {i + 1}→{i}" for i in range(3)))


def _production() -> Step:
    p = parameters(12)
    return Step(
        name=_NAME,
        text=_TEXT,
        sets=_SETS,
        parameters=curved.parameters_of(
            Parameter("vertical kick at the side of y", "MeV", 0.0, parity=-1), bend=-0.5, angle=1.2
        ),
        outputs=curved.outputs(p, ty + p[7] * h * tx * Side(y)),
        noise=curved.noise(p),
    )


def _improved() -> Step:
    p = Numbers()
    one = sp.Integer(1)
    outputs, parts, gain = gap.forms(
        p,
        bend=(one, Y**2, X**2, X**2 * Y**2),
        turn=(tx * Y, tx * X**2 * Y),
        lever=(one,),
        field=-0.5,
    )
    noise = p.scattering(1.2, gap.levers(1.2), gain)
    return Step(_NAME, _TEXT, _SETS, tuple(p.parameters), outputs, noise, parts=parts, layout=2)


PRODUCTION = _production()
IMPROVED = _improved()
