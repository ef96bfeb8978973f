"""The page of the closure: bias of q/p by direction and momentum, before and after."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from parkf.report.maps import bias_maps
from parkf.report.tables import Columns, interval, table_of, with_error, worst

_SPAN = 0.3  # % of bias at which the colours are full
_TITLES = {"before": "before", "targets": "with extrapolated targets"}
_WORST: Columns = {
    "p [GeV]": interval,
    "η": lambda cell: interval(cell, "eta"),
    "φ": lambda cell: interval(cell, "phi", ".2f"),
    "bias [%]": lambda cell: with_error(cell, "bias", "+.3f", 100),
    "tracks": lambda cell: str(cell["n"]),
}
_BY_MOMENTUM: Columns = {
    "p [GeV]": interval,
    "stage": lambda one: one["stage"],
    "mean [%]": lambda one: f"{100 * one['bias'].mean():+.3f}",
    "spread [%]": lambda one: f"{100 * one['bias'].std():.3f}",
    "largest [%]": lambda one: f"{100 * np.abs(one['bias']).max():.3f}",
}
_CHANGES: Columns = {
    "pass": lambda one: str(one["pass"]),
    "numbers": lambda one: str(one["terms"]),
    "change of the bend: RMS [%]": lambda one: f"{100 * one['rms']:.4f}",
    "95 % [%]": lambda one: f"{100 * one['q95']:.4f}",
    "statistical error, RMS [%]": lambda one: f"{100 * one['error_rms']:.4f}",
}


def closure_page(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of ``closure.html`` from ``closure.json``."""
    stages = {_TITLES.get(one["name"], f"after {one['name']}"): one["cells"] for one in summary["stages"]}
    (first, before), *_, (last, after) = stages.items()
    bins = sorted({(cell["p_min"], cell["p_max"]) for cells in stages.values() for cell in cells})
    by_momentum = [
        {
            "p_min": low,
            "p_max": high,
            "stage": title,
            "bias": np.array([cell["bias"] for cell in cells if cell["p_min"] == low]),
        }
        for low, high in bins
        for title, cells in stages.items()
    ]
    changes = [{**one, "pass": number} for number, one in enumerate(summary["changes"], start=1)]
    return {
        "tracks": summary["tracks"],
        "before": bias_maps(before, _SPAN),
        "after": bias_maps(after, _SPAN),
        "by_momentum": table_of(by_momentum, _BY_MOMENTUM, text=("stage",)),
        "worst": [(first, worst(before, _WORST)), (last, worst(after, _WORST))],
        "changes": table_of(changes, _CHANGES),
    }
