"""Extrapolations of a fitted track to fixed z, the planes of the RICH detectors, without scattering.

The trigger has production's forms: RICH1 begins at the last VELO hit, RICH2 in the last SciFi layer. Their
numbers are constants in its code, and not part of the constant blob.

This project's fit has better forms: RICH_VELO begins at the last VELO hit, RICH_UT at the first UT layer,
which is nearer to the exit of RICH 1, and RICH_SCIFI in the last SciFi layer.
"""

from dataclasses import replace

import sympy as sp

from parkf.io.planes import RICH_PLANES
from parkf.model.layout import Block
from parkf.model.steps import gap
from parkf.model.steps.forms import FORMS, block_of
from parkf.model.steps.gap import H, X, Y, dz
from parkf.model.steps.step import Numbers, Parameter, Step
from parkf.model.steps.symbols import COMPONENTS, Local, h, ten, tx, ty, x, y, z0

WEIGHT = 0.03
# Planes that each step leads to: z in mm.
PLANES_OF = {
    "RICH1": RICH_PLANES[:2],
    "RICH2": RICH_PLANES[2:],
    "RICH_VELO": RICH_PLANES[:1],
    "RICH_UT": RICH_PLANES[1:2],
    "RICH_SCIFI": RICH_PLANES[2:],
}


def _to_planes(form: Step, name: str, text: str) -> Step:
    """Turn a form into a step to fixed planes. Its noise is not fitted, but weighs the tracks of a fit.

    The noise is the fraction `WEIGHT` of the scattering, so that a fit is good for most tracks rather than
    for the few soft ones that the form misses by more. The Runge-Kutta tracks in the fit lose no energy.
    """
    return replace(
        form,
        name=name,
        text=text,
        sets=tuple(f"z = {z} mm" for z in PLANES_OF[name]),
        parameters=tuple(_unread(q) if q.kind in ("noise", "loss") else q for q in form.parameters),
        surface={},
        joined=1,
    )


def _unread(parameter: Parameter) -> Parameter:
    # Only widths are scaled; the parameters with the unit "1" are correlations.
    factor = 0.0 if parameter.kind == "loss" else 1.0 if parameter.unit == "1" else WEIGHT
    return replace(parameter, kind="free", text=f"{parameter.text}: not read", start=factor * parameter.start)


def _behind_velo() -> Step:
    """Return a step through a field that rises steeply up to the plane.

    The mean field and its lever are polynomials in X, Y and L, all in m. The straight line crosses the plane
    at (X, Y), and the track begins at z = L + 0.5 m.
    """
    p = Numbers()
    one, late = sp.Integer(1), sp.Symbol("L", real=True)
    place = {X: ten(-3) * (x + tx * dz), Y: ten(-3) * (y + ty * dz), late: ten(-3) * (z0 - 500)}

    def mean(text: str, *terms: sp.Expr) -> sp.Expr:
        numbers = [p(f"{text}, with {t}", "1e-1 MeV/mm", parity=-1) for t in terms]
        total = sp.Add(*(number * t for number, t in zip(numbers, terms, strict=True)))
        return Local(ten(-1) * dz * total.subs(place))

    along = sp.sqrt(1 + tx**2 + ty**2)
    dipole, skew = (one, late, late**2, X**2, Y**2), (X * Y, X * Y * late, X * Y * late**2)
    bent = h * Local(along * (1 + tx**2))
    outputs = {
        "tx": tx + bent * mean("field that bends tx", *dipole),
        "ty": ty + h * Local(along) * mean("field that turns ty", *skew),
        "x": x + (tx + bent * mean("its lever", *dipole)) * dz,
        "y": y + (ty + h * Local(along) * mean("its lever", *skew)) * dz,
    }
    noise = p.scattering(5.4, gap.levers(5.4))
    return Step("", "", (), tuple(p.parameters), {name: outputs[name] for name in COMPONENTS}, noise)


def _behind_scifi() -> Step:
    """Return a step over a gap whose field ends soon after its start.

    The last four terms of the bend and of the turn are for a field that differs left and right, as LHCb's.
    """
    p = Numbers()
    one = sp.Integer(1)
    even = (one, X**2, Y, Y**2, X**4, X**2 * Y**2, Y**4, X**6, X**4 * Y**2, X**2 * Y**4, Y**6)
    outputs, parts, _ = gap.forms(
        p,
        bend=(*even, X, X * Y, X**3, X * Y**2),
        turn=(H * Y, X * Y, X**3 * Y, X * Y**3, X**5 * Y, X**3 * Y**3, X * Y**5, one, X, Y, X**2),
        lever=(one, Y**2, X**2),
        field=-0.02,
        place=gap.START,
    )
    noise = p.scattering(1.35, gap.levers(1.35))
    return Step("", "", (), tuple(p.parameters), outputs, noise, parts=parts)


_PRODUCTION = FORMS["production"].steps
_VELO, _SCIFI = "last VELO hit to RICH 1", "last SciFi layer to RICH 2"
TRIGGER_STEPS = _to_planes(_PRODUCTION["VUT"], "RICH1", _VELO), _to_planes(_PRODUCTION["T"], "RICH2", _SCIFI)
OWN_STEPS = (
    _to_planes(_behind_velo(), "RICH_VELO", _VELO),
    _to_planes(_PRODUCTION["UT"], "RICH_UT", "first UT layer back to RICH 1"),
    _to_planes(_behind_scifi(), "RICH_SCIFI", _SCIFI),
)
RICH_STEPS = {step.name: step for step in (*TRIGGER_STEPS, *OWN_STEPS)}


def rich_blocks() -> dict[str, Block]:
    """Return the blocks of the RICH constants, by name."""
    return {name: block_of(step) for name, step in RICH_STEPS.items()}
