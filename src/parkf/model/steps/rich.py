"""Extrapolations of a fitted track to the planes of the RICH detectors.

They take production's forms to fixed z, without any scattering. RICH1 begins at the last VELO hit, RICH2 in
the last SciFi layer. The trigger has their numbers as constants in its code, so that they are not part of
the constant blob. RICH_UT begins at the first UT layer, which is nearer to the exit of RICH 1; only parkf's
fit uses it.
"""

from dataclasses import replace

from parkf.io.planes import RICH_PLANES
from parkf.model.layout import Block
from parkf.model.steps.forms import FORMS, block_of
from parkf.model.steps.step import Parameter, Step

WEIGHT = 0.03


def _to_planes(form: Step, name: str, text: str, planes: tuple[int, ...]) -> Step:
    """Take a form to fixed planes. Its noise weighs the tracks of a fit, and keeps its start values.

    It is a part of the scattering, `WEIGHT`, so that a fit is good for most tracks rather than for the few
    soft ones that the form misses by more.
    """
    return replace(
        form,
        name=name,
        text=text,
        sets=tuple(f"z = {z} mm" for z in planes),
        parameters=tuple(_unread(q) if q.kind == "noise" else q for q in form.parameters),
        surface={},
    )


def _unread(parameter: Parameter) -> Parameter:
    # Correlations, which have no unit, are no widths.
    start = parameter.start * (1.0 if parameter.unit == "1" else WEIGHT)
    return replace(parameter, kind="free", text=f"{parameter.text}: not read", start=start)


_FORMS = FORMS["production"].steps
RICH1 = _to_planes(_FORMS["VUT"], "RICH1", "last VELO hit to RICH 1", RICH_PLANES[:2])
RICH_UT = _to_planes(_FORMS["UT"], "RICH_UT", "first UT layer back to RICH 1", RICH_PLANES[1:2])
RICH2 = _to_planes(_FORMS["T"], "RICH2", "last SciFi layer to RICH 2", RICH_PLANES[2:])
RICH_STEPS = {step.name: step for step in (RICH1, RICH_UT, RICH2)}


def rich_blocks() -> dict[str, Block]:
    """Return the blocks of the RICH constants, by name."""
    return {name: block_of(step) for name, step in RICH_STEPS.items()}
