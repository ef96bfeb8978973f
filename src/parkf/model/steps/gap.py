"""A curved track over a gap between layers, expanded in the field around the gap's mid-point.

With By alone, the equation of motion is dtx/dz = −κ·h·N·(1 + tx²)·By, with N = √(1 + tx² + ty²). Over a gap
it turns tx by dz times the mean field. This is a polynomial in (X, Y), the point in m where the straight line
crosses the middle of the gap. The factor N·(1 + tx²) needs no number and replaces terms in h³. The term ty·Y
is for fields that change along a long gap.

Vertically dty/dz = κ·h·N·[(1 + ty²)·Bx − tx·ty·By − tx·Bz]; in a dipole that is symmetric in y, Bx ∝ X·Y and
Bz ∝ Y near the mid-plane. The terms that turn ty are therefore odd in Y.
"""

from collections.abc import Mapping, Sequence

import sympy as sp

from parkf.model.steps.step import Numbers, gain
from parkf.model.steps.symbols import Local, h, ten, tx, ty, x, y, z0, z1

dz = z1 - z0
# A straight line crosses the middle of the gap at (X, Y), in m; H is h in 1/GeV.
X, Y, H = sp.symbols("X Y H", real=True)
MIDDLE = {X: ten(-3) * (x + tx * dz / 2), Y: ten(-3) * (y + ty * dz / 2), H: ten(3) * h}
# The same with X and Y where the gap begins, for gaps whose field ends early.
START = {X: ten(-3) * x, Y: ten(-3) * y, H: ten(3) * h}


def forms(
    p: Numbers,
    bend: Sequence[sp.Expr],
    turn: Sequence[sp.Expr],
    lever: Sequence[sp.Expr],
    field: float,
    place: Mapping[sp.Symbol, sp.Expr] = MIDDLE,
) -> tuple[dict[str, sp.Expr], dict[sp.Symbol, sp.Expr], sp.Expr]:
    """Return the outputs of a step over a gap, their parts, and the factor by which q/p has increased.

    `p` declares a parameter for each term, and one for the energy lost before. Terms are in X, Y, H, tx and
    ty: in `bend` for the field that bends tx, in `turn` for the field that turns ty, in `lever` for the
    weight of the old slope in x. The fit starts with the field `field`, in 0.1 MeV/mm. The first term of
    `lever` is 1; its parameter is the weight in y, too. `place` is `MIDDLE` or `START`.
    """
    mean = _sum(p, "field that bends tx", bend, field, place)
    twist = _sum(p, "field that turns ty", turn, 0.0, place)
    in_y = p("share of the old slope in x and y", "1", 0.5)
    old = [p(f"share of the old slope in x, with {_name(t)}", _unit("1", t)) * t for t in lever[1:]]
    loss = p("energy lost before", "MeV", 20.0, kind="loss")
    in_x = sp.Add(in_y, *old).subs(place)
    gained = gain(loss)
    h_here = h * gained
    # In the Jacobian only the straight line and q/p are differentiated, nothing else (Local). The rest would
    # change the predicted covariance by less than a hundredth of what scattering adds, and would cost more
    # than all other operations of this step.
    bent = Local(ten(-1) * dz * sp.sqrt(1 + tx**2 + ty**2) * (1 + tx**2) * mean)
    turned = Local(ten(-1) * dz * twist)
    outputs = {
        "x": x + (tx + h_here * bent * Local(1 - in_x)) * dz,
        "y": y + (ty + h_here * turned * (1 - in_y)) * dz,
        "tx": tx + h_here * bent,
        "ty": ty + h_here * turned,
    }
    named = {"X": place[X], "Y": place[Y], "B": mean, "C": twist, "b": bent, "c": turned}
    named[r"\lambda"] = Local(1 - in_x)
    return outputs, {sp.Symbol(name): part for name, part in named.items()}, gained


def _sum(
    p: Numbers, text: str, terms: Sequence[sp.Expr], start: float, place: Mapping[sp.Symbol, sp.Expr]
) -> sp.Expr:
    """Declare a number for each term, and return the sum of number times term in Horner's form."""
    total = sp.Integer(0)
    for t in terms:
        parity = 1 if sp.degree(t, H) == 1 else -1
        full = text if t == 1 else f"{text}, with {_name(t)}"
        total += p(full, _unit("1e-1 MeV/mm", t), start if t == 1 else 0.0, parity=parity) * t
    return sp.horner(total, wrt=(X, Y)).subs(place)


def _name(term: sp.Expr) -> str:
    return str(term).replace("**", "^").replace("*", "·")


def _unit(unit: str, term: sp.Expr) -> str:
    metres, energies = sp.degree(term, X) + sp.degree(term, Y), sp.degree(term, H)
    powers = ((metres, "/m"), (energies, " GeV"))
    return unit + "".join(f"{name}^{n}" if n > 1 else name for n, name in powers if n)


def levers(angle: float) -> tuple[tuple[sp.Expr, str, str, float], ...]:
    """Return the lever for scattering all along a gap; `angle` is the start value in MeV."""
    return ((sp.Abs(dz), "per dz times momentum", "MeV", 0.58 * angle),)
