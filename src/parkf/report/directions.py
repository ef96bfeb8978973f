"""Maps and tables of a fit by direction, charge and momentum."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from parkf.report.heat import HeatMap, Spot, about_zero
from parkf.report.tables import Cells

WORST = 10
ERRORS = 3  # standard errors that a bias must exceed to count
_SPAN = 0.4  # % of bias at which the colour of a map is full


def worst(cells: Sequence[Mapping[str, Any]]) -> Cells:
    """Write the cells whose bias, less three errors, is largest."""

    def certain(cell: Mapping[str, Any]) -> float:
        return float(abs(cell["bias"]) - ERRORS * cell["bias_error"])

    return Cells(
        ["η", "φ [°]", "charge", "p [GeV]", "tracks", "bias of δp/p [%]", "q/p pull", "mean of tx", "of ty"],
        [
            [
                f"{cell['eta_min']:g}–{cell['eta_max']:g}",
                f"{np.degrees(cell['phi_min']):.1f} to {np.degrees(cell['phi_max']):.1f}",
                "+" if cell["charge"] > 0 else "−",
                f"{cell['p_min']:g}–{cell['p_max']:g}",
                str(cell["n"]),
                f"{100 * cell['bias']:+.3f} ± {100 * cell['bias_error']:.3f}",
                f"{cell['pull_width']:.3f} ± {cell['pull_width_error']:.3f}",
                f"{cell['tx_mean']:+.3f} ± {cell['tx_mean_error']:.3f}",
                f"{cell['ty_mean']:+.3f} ± {cell['ty_mean_error']:.3f}",
            ]
            for cell in sorted(cells, key=certain, reverse=True)[:WORST]
        ],
    )


def bias_maps(cells: Sequence[Mapping[str, Any]]) -> dict[str, HeatMap]:
    """Lay out the bias of δp/p by η, φ and momentum, one map for each charge."""
    return {
        text: bias_map([cell for cell in cells if cell["charge"] == charge])
        for text, charge in (("positive", 1), ("negative", -1))
        if any(cell["charge"] == charge for cell in cells)
    }


def bias_map(cells: Sequence[Mapping[str, Any]]) -> HeatMap:
    """Lay out the bias of δp/p by η and, for each momentum, φ or plane."""
    columns = sorted({(cell["p_min"], cell["p_max"], *_column(cell)) for cell in cells})
    rows = sorted({(cell["eta_min"], cell["eta_max"]) for cell in cells}, reverse=True)
    spots = {(cell["eta_min"], cell["p_min"], _column(cell)[0]): _spot(cell) for cell in cells}
    return HeatMap(
        corner="η",
        columns=[(f"{low:g}–{high:g} GeV", name) for low, high, _, name in columns],
        rows={
            f"{low:g}–{high:g}": [spots.get((low, p, place)) for p, _, place, _ in columns]
            for low, high in rows
        },
        scale=about_zero("bias of δp/p", _SPAN, "%"),
    )


def _spot(cell: Mapping[str, Any]) -> Spot:
    bias, error = 100 * cell["bias"], 100 * cell["bias_error"]
    return Spot(f"{bias:+.2f}", bias / _SPAN, sure=abs(bias) > ERRORS * error)


def _column(cell: Mapping[str, Any]) -> tuple[float, str]:
    """Place and name of a cell's φ."""
    if "plane" in cell:
        return ("horizontal", "diagonal", "vertical").index(cell["plane"]), cell["plane"][:4] + "."
    middle = (cell["phi_min"] + cell["phi_max"]) / 2
    return middle, f"{np.degrees(middle):.0f}°"
