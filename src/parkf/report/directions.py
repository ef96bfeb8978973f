"""The page of biases by direction, charge and momentum."""

from collections.abc import Mapping, Sequence
from typing import Any

from parkf.report.figures import FIT_NAMES
from parkf.report.maps import Maps, bias_maps

_ERRORS = 3  # standard errors that a bias must exceed to count
_SPAN = 0.4  # % of bias at which the colour of a map is full


def directions_page(fits: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of ``directions.html``: the fits that measure momentum with all detectors."""
    return {
        "fits": [
            {
                "title": FIT_NAMES[name],
                "planes": bias_maps(fit["directions"], _SPAN, _ERRORS),
                "maps": maps_by_charge(fit["cells"]),
            }
            for name, fit in fits.items()
            if "scores" in fit
        ],
        "errors": _ERRORS,
    }


def maps_by_charge(cells: Sequence[Mapping[str, Any]]) -> dict[str, Maps]:
    """Show the bias of δp/p by η, φ and momentum, for each charge that there is."""
    charges = {"positive": 1, "negative": -1}
    maps = {
        text: bias_maps([cell for cell in cells if cell["charge"] == charge], _SPAN, _ERRORS)
        for text, charge in charges.items()
    }
    return {text: own for text, own in maps.items() if own}
