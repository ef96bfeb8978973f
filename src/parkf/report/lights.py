"""A traffic light for each step: what limits it, the form or the physics, and whether its noise is right."""

from dataclasses import dataclass
from typing import Literal

from parkf.training.result import BinAccuracy, FitResult
from parkf.training.spread import core_error

# δ_par/σ_MS above 3 GeV: a quarter adds 3% to the scattering in quadrature, one doubles its square.
RATIO_GREEN, RATIO_AMBER = 0.25, 1.0
# Core width of (form − truth)/σ above 3 GeV, away from one.
WIDTH_GREEN, WIDTH_AMBER = 0.05, 0.15
FROM = 3.0  # GeV; below it few selections look

Colour = Literal["green", "amber", "red"]


@dataclass(frozen=True)
class Light:
    """Colour and reason."""

    colour: Colour
    reason: str


def light(fit: FitResult) -> Light:
    """Judge a step by the worst of its sets, components and momentum bins above 3 GeV."""
    rows = [(one.label, row) for one in fit.sets for row in one.accuracy if row.p_min >= FROM]
    ratios = [(row.ratio_rms, label, row) for label, row in rows if row.ratio_rms is not None]
    widths = [
        (_off(row.truth_width, row.n), label, row) for label, row in rows if row.truth_width is not None
    ]
    if not ratios or not widths:
        return Light("green", "nothing scatters; its misfit is part of the steps beside it")
    ratio, off = (max(column, key=lambda entry: entry[0]) for column in (ratios, widths))
    colours: dict[Colour, bool] = {
        "red": ratio[0] > RATIO_AMBER or off[0] > WIDTH_AMBER,
        "amber": ratio[0] > RATIO_GREEN or off[0] > WIDTH_GREEN,
        "green": True,
    }
    colour = next(name for name, holds in colours.items() if holds)
    reason = (
        f"δ_par/σ_MS up to {ratio[0]:.2f} ({_place(ratio[1], ratio[2])}); "
        f"width of the truth {off[2].truth_width:.2f} at worst ({_place(off[1], off[2])})"
    )
    return Light(colour, reason)


def _off(width: float, n: int) -> float:
    """Give the distance from one beyond what statistics explain (two standard errors)."""
    return max(abs(width - 1) - 2 * core_error(width, n), 0.0)


def _place(label: str, row: BinAccuracy) -> str:
    return f"{label}, {row.component}, {row.p_min:g}–{row.p_max:g} GeV"
