"""Steps into and through the SciFi tracker, whose layers lean: z = plane + lean·y."""

import sympy as sp

from parkf.model.steps import curved, gap
from parkf.model.steps.gap import H, X, Y
from parkf.model.steps.step import Numbers, Step, gain
from parkf.model.steps.symbols import h, k, ten, tx, ty, x, y, z0, z1

GAPS = 11
plane0, plane1, lean0, lean1 = sp.symbols("plane0 plane1 lean0 lean1", real=True)


def _landing(origin: sp.Expr) -> sp.Expr:
    """Return z where the straight line from z = origin crosses the target plane."""
    return origin + (plane1 + lean1 * y - origin) / (1 - lean1 * ty)


def _into_scifi(*, loses: bool) -> Step:
    """Return the step from z_out to the first layer; `loses`: with the momentum that is left there."""
    p = Numbers()
    bend_y = p("vertical kick", "MeV²/mm²")
    bend = p("field", "MeV/mm", -0.03, parity=-1)
    strong = p("field for strongly curved tracks", "1e4 MeV³/mm³", parity=-1)
    share = p("share of the old slope in x", "1", 0.5)
    gained = gain(p("energy lost before", "MeV", 24.0, "loss")) if loses else 1
    k_here, h_here = k * gained, h * gained
    dz = z1 - z0
    tx1 = tx + bend * h_here * dz + ten(4) * strong * (h_here * dz) ** 3
    ty1 = ty + bend_y * (k_here * dz) ** 2
    x1 = x + ((1 - share) * tx1 + share * tx) * dz
    return Step(
        name="TFT",
        text="z_out to the first SciFi layer",
        sets=("forward",),
        parameters=tuple(p.parameters),
        outputs={"x": x1, "y": y + (ty + ty1) / 2 * dz, "tx": tx1, "ty": ty1},
        surface={z1: _landing(z0)},
        layout=2 if loses else 1,
    )


_NAME, _TEXT = "T", "SciFi layer to SciFi layer"
_ORIGIN = plane0 + lean0 * y
_SURFACE = {z0: _ORIGIN, z1: _landing(_ORIGIN)}


def _production() -> Step:
    p = Numbers()
    sets = tuple(f"gap {gap}, y {side} 0" for gap in range(GAPS) for side in ("≥", "<"))
    turn = ("vertical focusing", "MeV²/mm", 1)
    outputs, noise = curved.forms(p, turn, k**2 * y, bend=-0.2, angle=1.35)
    return Step(_NAME, _TEXT, sets, tuple(p.parameters), outputs, noise, surface=_SURFACE)


def _improved() -> Step:
    """Return the step with one set for each gap; terms that are odd in X and in Y distinguish the sides.

    The last seven terms of the turn are for a field that differs left and right, up and down.
    """
    p = Numbers()
    one = sp.Integer(1)
    outputs, parts, gained = gap.forms(
        p,
        bend=(one, X, Y, X**2, Y**2, ty * Y, X**4, X**2 * Y**2, Y**4, X**2 * Y**4, X**4 * Y**2, Y**6),
        turn=(
            H * Y,
            X * Y,
            tx * Y,
            X * Y**3,
            H * Y**3,
            tx * X**2 * Y,
            X * Y**5,
            H * X**4 * Y,
            tx * X**2 * Y**3,
            one,
            H,
            Y,
            X,
            X**2,
            X**3,
            H * X**2 * Y,
        ),
        lever=(one, Y**2, X**2),
        field=-0.2,
    )
    noise = p.scattering(1.35, gap.levers(1.35), gained)
    sets, numbers = tuple(f"gap {number}" for number in range(GAPS)), tuple(p.parameters)
    return Step(
        _NAME,
        _TEXT,
        sets,
        numbers,
        outputs,
        noise,
        _SURFACE,
        parts=parts,
        joined=2,
        displaced=True,
        layout=3,
    )


PRODUCTION = (_into_scifi(loses=False), _production())
IMPROVED = (_into_scifi(loses=True), _improved())
