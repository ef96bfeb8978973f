"""The page of the closure: bias of q/p by direction and momentum, before and after."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from parkf.report.figures import figure
from parkf.report.tables import Cells

# Bias at which the colours are full.
SPAN = 3e-3
WORST = 10
_TITLES = {"before": "before", "targets": "with targets carried on"}

Row = Mapping[str, Any]


def closure_page(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Lay out what ``closure.html`` shows of ``closure.json``."""
    stages = summary["stages"]
    first, last = stages[0], stages[-1]
    return {
        "tracks": summary["tracks"],
        "before": Markup(_maps(first["cells"])),
        "after": Markup(_maps(last["cells"])),
        "by_momentum": _by_momentum(stages),
        "worst": [(_title(stage), _worst(stage["cells"])) for stage in (first, last)],
        "changes": _changes(summary["changes"]),
        "response": _response(summary["response"]),
    }


def _title(stage: Mapping[str, Any]) -> str:
    return _TITLES.get(stage["name"], f"after {stage['name']}")


def _range(row: Row, name: str, digits: str = "g") -> str:
    return f"{row[f'{name}_min']:{digits}}–{row[f'{name}_max']:{digits}}"


def _maps(cells: Sequence[Row]) -> str:
    """Draw a map of η and φ for each range of momentum."""
    momenta = sorted({(row["p_min"], row["p_max"]) for row in cells})
    with figure(len(momenta), width=2.1, height=2.4) as drawn:
        for (low, high), axes in zip(momenta, drawn.axes, strict=True):
            for row in (row for row in cells if row["p_min"] == low):
                colour = float(np.clip(row["bias"] / SPAN, -1, 1))
                axes.fill_between(
                    [row["phi_min"], row["phi_max"]],
                    row["eta_min"],
                    row["eta_max"],
                    color=_shade(colour),
                    lw=0,
                )
            axes.set_facecolor("#e4e4e4")
            axes.set(title=f"{low:g}–{high:g} GeV", xlabel="φ", xlim=(-np.pi, np.pi), ylim=(2, 5))
            axes.set_xticks([-np.pi, 0, np.pi], labels=["−π", "0", "π"])
            axes.grid(visible=False)
        drawn.axes[0].set(ylabel="η")
    return drawn.svg


def _shade(value: float) -> tuple[float, float, float]:
    """Blue below zero, red above, white in between."""
    fade = 1 - abs(value)
    return (1.0, fade, fade) if value > 0 else (fade, fade, 1.0)


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
