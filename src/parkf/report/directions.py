"""Maps and tables of a fit by direction, charge and momentum."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from parkf.report.figures import figure
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


def bias_maps(cells: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Draw the bias of δp/p by η and φ, a panel for each momentum, one map for each charge."""
    return {
        text: _map([cell for cell in cells if cell["charge"] == charge])
        for text, charge in (("positive", 1), ("negative", -1))
        if any(cell["charge"] == charge for cell in cells)
    }


def plane_map(directions: Sequence[Mapping[str, Any]]) -> str:
    """Draw the bias of δp/p by η and plane, a panel for each momentum."""
    return _map(directions)


def _map(cells: Sequence[Mapping[str, Any]]) -> str:
    momenta = sorted({(cell["p_min"], cell["p_max"]) for cell in cells})
    columns = sorted({_column(cell) for cell in cells})
    rows = sorted({(cell["eta_min"], cell["eta_max"]) for cell in cells})
    left, right, bottom, top = margins = (0.6, 0.1, 0.8, 0.3)
    width, height = 0.42 * len(columns) + left + right, 0.28 * len(rows) + bottom + top
    with figure(len(momenta), width=width, height=height, margins=margins) as drawn:
        for (low, high), axes in zip(momenta, drawn.axes, strict=True):
            bias, error = np.full((2, len(rows), len(columns)), np.nan)
            for cell in cells:
                if cell["p_min"] == low:
                    place = rows.index((cell["eta_min"], cell["eta_max"])), columns.index(_column(cell))
                    bias[place], error[place] = 100 * cell["bias"], 100 * cell["bias_error"]
            colour = np.clip(bias / _SPAN, -1, 1)
            axes.imshow(colour, vmin=-1, vmax=1, cmap="RdBu_r", aspect="auto", origin="lower")
            for (row, column), number in np.ndenumerate(bias):
                if np.isfinite(number):
                    sure = abs(number) > ERRORS * error[row, column]
                    ink = "white" if abs(colour[row, column]) > 0.6 else "black"
                    weight = "bold" if sure else "normal"
                    axes.text(
                        column,
                        row,
                        f"{number:+.2f}",
                        ha="center",
                        va="center",
                        fontsize=6,
                        color=ink,
                        weight=weight,
                    )
            axes.set_xticks(
                range(len(columns)), labels=[text for _, text in columns], rotation=60, fontsize=7
            )
            axes.set_yticks(range(len(rows)), labels=[f"{a:g}–{b:g}" for a, b in rows], fontsize=7)
            axes.set(title=f"{low:g}–{high:g} GeV")
            axes.grid(visible=False)
        drawn.axes[0].set(ylabel="η")
    return drawn.svg


def _column(cell: Mapping[str, Any]) -> tuple[float, str]:
    """Place and name of a cell's φ."""
    if "plane" in cell:
        return ("horizontal", "diagonal", "vertical").index(cell["plane"]), cell["plane"]
    middle = (cell["phi_min"] + cell["phi_max"]) / 2
    return middle, f"{np.degrees(middle):.0f}°"
