"""The page of the closure: bias of q/p by direction and momentum, before and after."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from parkf.report.maps import bias_map
from parkf.report.tables import Cells, Columns, interval, table_of, with_error

_LABEL, _SPAN = "bias of q/p", 0.3  # % of bias at which the colours are full
_WORST = 10
_TITLES = {"before": "before", "targets": "with extrapolated targets"}

Row = Mapping[str, Any]


def closure_page(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of ``closure.html`` from ``closure.json``."""
    stages = {_TITLES.get(one["name"], f"after {one['name']}"): one["cells"] for one in summary["stages"]}
    (first, before), *_, (last, after) = stages.items()
    return {
        "tracks": summary["tracks"],
        "before": bias_map(before, _LABEL, _SPAN),
        "after": bias_map(after, _LABEL, _SPAN),
        "by_momentum": _by_momentum(stages),
        "worst": [(first, _worst(before)), (last, _worst(after))],
        "changes": _changes(summary["changes"]),
        "response": _response(summary["response"]),
    }


def _by_momentum(stages: Mapping[str, Sequence[Row]]) -> Cells:
    """Mean, spread and largest bias of the cells, stage after stage."""
    rows = []
    for low, high in sorted({(cell["p_min"], cell["p_max"]) for cells in stages.values() for cell in cells}):
        for title, cells in stages.items():
            bias = np.array([cell["bias"] for cell in cells if cell["p_min"] == low])
            figures = (
                f"{100 * bias.mean():+.3f}",
                f"{100 * bias.std():.3f}",
                f"{100 * np.abs(bias).max():.3f}",
            )
            rows.append([f"{low:g}–{high:g}", title, *figures])
    return Cells(["p [GeV]", "stage", "mean [%]", "spread [%]", "largest [%]"], rows, text=("stage",))


def _worst(cells: Sequence[Row]) -> Cells:
    """List the cells with the largest excess of the bias over three errors."""
    columns: Columns = {
        "p [GeV]": interval,
        "η": lambda cell: interval(cell, "eta"),
        "φ": lambda cell: interval(cell, "phi", ".2f"),
        "bias [%]": lambda cell: with_error(cell, "bias", "+.3f", 100),
        "tracks": lambda cell: str(cell["n"]),
    }
    ordered = sorted(cells, key=lambda cell: 3 * cell["bias_error"] - abs(cell["bias"]))
    return table_of(ordered[:_WORST], columns)


def _changes(changes: Sequence[Row]) -> Cells:
    columns: Columns = {
        "pass": lambda one: str(one["pass"]),
        "numbers": lambda one: str(one["terms"]),
        "change of the bend: RMS [%]": lambda one: f"{100 * one['rms']:.4f}",
        "95 % [%]": lambda one: f"{100 * one['q95']:.4f}",
        "statistical error, RMS [%]": lambda one: f"{100 * one['error_rms']:.4f}",
    }
    return table_of(({**one, "pass": number} for number, one in enumerate(changes, start=1)), columns)


def _response(response: Row) -> Cells:
    """Response of the fit's q/p to the bend, and to each SciFi layer."""
    layers = [f"layer {number}" for number in range(len(response["share"][0]))]
    return Cells(
        ["p [GeV]", "to the bend", *layers],
        [
            [f"{1e-3 * p:.1f}", f"{gain:.3f}", *(f"{1e3 * share:+.2f}" for share in shares)]
            for p, gain, shares in zip(response["p"], response["gain"], response["share"], strict=True)
        ],
    )
