"""The page of biases by direction, charge and momentum."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from parkf.report.figures import FIT_NAMES
from parkf.report.heat import HeatMap
from parkf.report.maps import bias_map
from parkf.report.tables import Cells, Columns, interval, table_of, with_error

WORST = 10
_ERRORS = 3  # standard errors that a bias must exceed to count
_SPAN = 0.4  # % of bias at which the colour of a map is full


def directions_page(fits: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of ``directions.html``: the fits that measure momentum with all detectors."""
    return {
        "fits": [
            {
                "title": FIT_NAMES[name],
                "planes": _map(fit["directions"]) if fit["directions"] else None,
                "maps": bias_maps(fit["cells"]),
                "worst": worst(fit["cells"]),
            }
            for name, fit in fits.items()
            if "separation" in fit
        ],
        "errors": _ERRORS,
    }


def worst(cells: Sequence[Mapping[str, Any]]) -> Cells:
    """List the cells with the largest excess of the bias over three errors."""
    columns: Columns = {
        "η": lambda cell: interval(cell, "eta"),
        "φ [°]": lambda cell: f"{np.degrees(cell['phi_min']):.1f} to {np.degrees(cell['phi_max']):.1f}",
        "charge": lambda cell: "+" if cell["charge"] > 0 else "−",
        "p [GeV]": interval,
        "tracks": lambda cell: str(cell["n"]),
        "bias of δp/p [%]": lambda cell: with_error(cell, "bias", "+.3f", 100),
        "q/p pull": lambda cell: with_error(cell, "pull_width", ".3f"),
        "mean of tx": lambda cell: with_error(cell, "tx_mean", "+.3f"),
        "of ty": lambda cell: with_error(cell, "ty_mean", "+.3f"),
    }
    ordered = sorted(cells, key=lambda cell: _ERRORS * cell["bias_error"] - abs(cell["bias"]))
    return table_of(ordered[:WORST], columns)


def bias_maps(cells: Sequence[Mapping[str, Any]]) -> dict[str, HeatMap]:
    """Draw the bias of δp/p by η, φ and momentum, one map for each charge."""
    charges = {
        text: [cell for cell in cells if cell["charge"] == charge]
        for text, charge in (("positive", 1), ("negative", -1))
    }
    return {text: _map(own) for text, own in charges.items() if own}


def _map(cells: Sequence[Mapping[str, Any]]) -> HeatMap:
    return bias_map(cells, "bias of δp/p", _SPAN, _ERRORS)
