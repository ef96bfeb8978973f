"""Steps between UT layers."""

import sympy as sp

from parkf.model.steps import curved, gap
from parkf.model.steps.gap import X, Y
from parkf.model.steps.step import Numbers, Step
from parkf.model.steps.symbols import Side, h, tx, y

_NAME, _TEXT = "UT", "UT layer to UT layer"
_SETS = (*(f"forward {i}→{i + 1}" for i in range(3)), *(f"backward {i + 1}→{i}" for i in range(3)))


def _production() -> Step:
    p = Numbers()
    turn = ("vertical kick at the side of y", "MeV", -1)
    outputs, noise = curved.forms(p, turn, h * tx * Side(y), bend=-0.5, angle=1.2)
    return Step(_NAME, _TEXT, _SETS, tuple(p.parameters), outputs, noise)


def _improved() -> Step:
    """Return the step; the last terms of bend (five) and turn (four) are for a field without symmetry."""
    p = Numbers()
    one = sp.Integer(1)
    outputs, parts, gained = gap.forms(
        p,
        bend=(one, Y**2, X**2, X**2 * Y**2, X, Y, X * Y, Y**5, X * Y**4),
        turn=(tx * Y, tx * X**2 * Y, one, Y, X**2, Y**2),
        lever=(one,),
        field=-0.5,
    )
    noise = p.scattering(1.2, gap.levers(1.2), gained)
    return Step(_NAME, _TEXT, _SETS, tuple(p.parameters), outputs, noise, parts=parts, layout=3)


PRODUCTION, IMPROVED = (_production(),), (_improved(),)
