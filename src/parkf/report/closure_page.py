"""The page of the closure: bias of q/p by direction and momentum, before and after."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from parkf.report.heat import HeatMap, Spot, about_zero
from parkf.report.tables import Cells

# Bias at which the colours are full.
SPAN = 3e-3
WORST = 10
_TITLES = {"before": "before", "targets": "with targets carried on"}

Row = Mapping[str, Any]


def closure_page(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of ``closure.html`` from ``closure.json``."""
    stages = summary["stages"]
    first, last = stages[0], stages[-1]
    return {
        "tracks": summary["tracks"],
        "before": _map(first["cells"]),
        "after": _map(last["cells"]),
        "by_momentum": _by_momentum(stages),
        "worst": [(_title(stage), _worst(stage["cells"])) for stage in (first, last)],
        "changes": _changes(summary["changes"]),
        "response": _response(summary["response"]),
    }


def _title(stage: Mapping[str, Any]) -> str:
    return _TITLES.get(stage["name"], f"after {stage['name']}")


def _range(row: Row, name: str, digits: str = "g") -> str:
    return f"{row[f'{name}_min']:{digits}}–{row[f'{name}_max']:{digits}}"


def _map(cells: Sequence[Row]) -> HeatMap:
    """Lay out a map of η and, for each range of momentum, φ."""
    columns = sorted({(row["p_min"], row["p_max"], row["phi_min"], row["phi_max"]) for row in cells})
    rows = sorted({(row["eta_min"], row["eta_max"]) for row in cells}, reverse=True)
    spots = {
        (row["eta_min"], row["p_min"], row["phi_min"]): Spot(f"{100 * row['bias']:+.2f}", row["bias"] / SPAN)
        for row in cells
    }
    return HeatMap(
        corner="η",
        columns=[
            (f"{low:g}–{high:g} GeV", f"{np.degrees((start + end) / 2):.0f}°")
            for low, high, start, end in columns
        ],
        rows={
            f"{low:g}–{high:g}": [spots.get((low, p, start)) for p, _, start, _ in columns]
            for low, high in rows
        },
        scale=about_zero("bias of q/p", 100 * SPAN, "%"),
    )


def _by_momentum(stages: Sequence[Mapping[str, Any]]) -> Cells:
    """Mean, spread and largest bias of the cells, stage after stage."""
    momenta = sorted({(row["p_min"], row["p_max"]) for stage in stages for row in stage["cells"]})
    rows = []
    for low, high in momenta:
        row = [f"{low:g}–{high:g}"]
        for stage in stages:
            bias = np.array([cell["bias"] for cell in stage["cells"] if cell["p_min"] == low])
            row += [f"{100 * bias.mean():+.3f}", f"{100 * bias.std():.3f}", f"{100 * np.abs(bias).max():.3f}"]
        rows.append(row)
    heads = [head for stage in stages for head in (f"{_title(stage)}: mean [%]", "spread", "largest")]
    return Cells(["p [GeV]", *heads], rows)


def _worst(cells: Sequence[Row]) -> Cells:
    """List the cells whose bias is farthest beyond three errors."""
    ordered = sorted(cells, key=lambda row: 3 * row["bias_error"] - abs(row["bias"]))
    return Cells(
        ["p [GeV]", "η", "φ", "bias [%]", "tracks"],
        [
            [
                _range(row, "p"),
                _range(row, "eta"),
                _range(row, "phi", ".2f"),
                f"{100 * row['bias']:+.3f} ± {100 * row['bias_error']:.3f}",
                str(row["n"]),
            ]
            for row in ordered[:WORST]
        ],
    )


def _changes(changes: Sequence[Row]) -> Cells:
    return Cells(
        ["pass", "numbers", "change of the bend: RMS [%]", "95 % [%]", "statistical error, RMS [%]"],
        [
            [
                str(number),
                str(one["terms"]),
                *(f"{100 * one[key]:.4f}" for key in ("rms", "q95", "error_rms")),
            ]
            for number, one in enumerate(changes, start=1)
        ],
    )


def _response(response: Row) -> Cells:
    """How the fit's q/p answers to the bend, and to each SciFi layer."""
    layers = [f"layer {number}" for number in range(len(response["share"][0]))]
    return Cells(
        ["p [GeV]", "to the bend", *layers],
        [
            [f"{1e-3 * p:.1f}", f"{gain:.3f}", *(f"{1e3 * share:+.2f}" for share in shares)]
            for p, gain, shares in zip(response["p"], response["gain"], response["share"], strict=True)
        ],
    )
