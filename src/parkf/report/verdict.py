"""The first thing on the page: what was asked, what was measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

PULL_WIDTH = (0.9, 1.1)  # of x, y, tx, ty at the beamline
MOMENTUM_CORE = 0.01  # of δp/p, from 5 to 50 GeV
GHOST_EFFICIENCY = 0.40  # at 91% genuine efficiency; the paper reports 29%
# 68% of |x - Runge-Kutta| [mm] of LHCb's own table in the fiducial region, by lower edge of the bin [GeV].
LHCB_TABLE_X = {1.5: 0.29, 3.0: 0.097, 5.0: 0.049, 10.0: 0.024, 20.0: 0.011, 50.0: 0.005}


@dataclass(frozen=True)
class Line:
    """One requirement."""

    what: str
    measured: str
    bar: str
    met: bool


def verdict(validation: Mapping[str, Any], table: Sequence[Mapping[str, Any]]) -> list[Line]:
    """Hold the default fit and the magnet table against their bars.

    Parameters
    ----------
    validation : mapping
        Content of ``validation.json``.
    table : sequence of mapping
        ``table.fiducial`` of ``accuracy.json``.
    """
    fit = validation["fits"]["parkf"]
    low, high = PULL_WIDTH
    widths = {component: fit["pulls"][component]["width"] for component in ("x", "y", "tx", "ty")}
    lines = [
        Line(f"pull width of {component}", f"{width:.3f}", f"{low}–{high}", low <= width <= high)
        for component, width in widths.items()
    ]
    lines += [
        Line(
            f"core of δp/p, {entry['p_min']:g}–{entry['p_max']:g} GeV",
            f"{100 * entry['core']:.2f} %",
            f"< {100 * MOMENTUM_CORE:g} %",
            entry["core"] < MOMENTUM_CORE,
        )
        for entry in fit["momentum"]
        if 5 <= entry["p_min"] < 50
    ]
    point = fit["working_point"]
    lines.append(
        Line(
            f"ghosts kept at {100 * point['genuine']:.0f} % genuine efficiency",
            f"{100 * point['ghost']:.1f} %",
            f"≤ {100 * GHOST_EFFICIENCY:.0f} %",
            point["ghost"] <= GHOST_EFFICIENCY,
        )
    )
    lines += [
        Line(
            f"magnet table, 68 % of |δx|, {row['p_min']:g}–{row['p_max']:g} GeV",
            f"{row['q68']:.4f} mm",
            f"≤ {LHCB_TABLE_X[row['p_min']]} mm (LHCb's)",
            row["q68"] <= LHCB_TABLE_X[row["p_min"]],
        )
        for row in table
        if row["component"] == "x"
    ]
    return lines
