"""Maps as tables with coloured cells: misfits of steps and of the magnet table, and biases by direction."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np

from parkf.report.figures import FIT_NAMES
from parkf.report.tables import Cells, shade

# Numbers by row, component, and p_min and p_max in GeV, each with its error, if it has one.
Bins = Mapping[tuple[str, str, float, float], tuple[float, float | None]]
# Tables that stand side by side, by their titles.
Maps = Mapping[str, Cells]
_COMPONENTS = ("x", "y", "tx", "ty")
# Misfit over scattering of cells without colour, and of the strongest ones. Shades are logarithmic.
_CLEAN, _BAD = 0.1, 3.0
# A width that deviates from one by this factor, up or down, has the strongest colour.
_WIDE = 1.3
# Unit of the table's misfits on the page, and its ratio to mm or rad.
_UNITS = {"x": ("µm", 1e3), "y": ("µm", 1e3), "tx": ("µrad", 1e6), "ty": ("µrad", 1e6)}
# A cell has the strongest colour if it exceeds its map's median by this factor.
_DARKEST = 8.0
# Standard errors that a bias must exceed to count, and % of bias at which the colour of a map is full.
ERRORS, SPAN = 3, 0.4


def ratio_maps(values: Bins) -> Maps:
    """Show misfits over the scattering, a map for each component."""
    return _step_maps(values, lambda ratio: max(_log(ratio / _CLEAN, _BAD / _CLEAN), 0.0))


def width_maps(values: Bins) -> Maps:
    """Show widths that should be one: blue is too narrow, red too wide."""
    return _step_maps(values, lambda width: _log(width, _WIDE))


def _log(ratio: float, base: float) -> float:
    return math.log(max(ratio, 1e-9), base)


def _step_maps(values: Bins, value: Callable[[float], float]) -> Maps:
    bins = sorted({key[2:] for key in values})

    def cell(*key: Any) -> str:
        if key not in values:
            return ""
        number, error = values[key]
        return shade(f"{number:.2g}", value(number), number, error)

    rows = dict.fromkeys(row for row, *_ in values)
    return {
        component: Cells(
            ["set, p [GeV]", *(f"{low:g}–{high:g}" for low, high in bins)],
            [[row, *(cell(row, component, *edges) for edges in bins)] for row in rows],
        )
        for component in _COMPONENTS
    }


def table_maps(maps: Mapping[str, Any]) -> Mapping[str, Maps]:
    """Show ``table.maps`` of ``accuracy.json``: by momentum, the four components beside each other."""
    middles = ([sum(edges) / 2 for edges in pairwise(maps[axis])] for axis in ("x", "y"))
    columns, names = ([f"{middle:.0f}".replace("-", "−") for middle in axis] for axis in middles)
    momenta: dict[str, dict[str, Cells]] = {}
    for one in maps["cells"]:
        unit, scale = _UNITS[one["component"]]
        rows = [[name, *row] for name, row in zip(names, _misfits(one["q68"], scale), strict=True)]
        of_momentum = momenta.setdefault(f"{one['p_min']:g}–{one['p_max']:g} GeV", {})
        # The largest y comes first, so that the top of the table is the top of the detector.
        of_momentum[f"{one['component']} [{unit}]"] = Cells(["y, x [mm]", *columns], rows[::-1])
    return momenta


def _misfits(rows: Sequence[Sequence[float | None]], scale: float) -> list[list[str]]:
    middle = median([value for row in rows for value in row if value is not None] or [1.0])

    def cell(value: float | None) -> str:
        if value is None:
            return ""
        # Numbers have two digits, and no powers of ten. The median and less have no colour.
        text = f"{float(f'{scale * value:.2g}'):g}"
        return shade(text, max(_log(value / middle, _DARKEST), 0.0), scale * value)

    return [[cell(value) for value in row] for row in rows]


def bias_maps(cells: Sequence[Mapping[str, Any]], span: float, errors: float = math.inf) -> Maps:
    """Show a bias in per cent by η and φ or plane, a map for each bin of momentum.

    Colours are strongest for biases of `span` (%) or more. A bias that exceeds `errors` standard errors is
    emphasised.
    """
    places = dict(sorted({_direction(cell) for cell in cells}))
    rows = sorted({(cell["eta_min"], cell["eta_max"]) for cell in cells}, reverse=True)
    found = {}
    for cell in cells:
        bias, error = 100 * cell["bias"], 100 * cell["bias_error"]
        text = shade(f"{bias:+.2f}", bias / span, bias, error, sure=abs(bias) > errors * error)
        found[cell["p_min"], cell["eta_min"], _direction(cell)[0]] = text
    return {
        f"{low:g}–{high:g} GeV": Cells(
            ["η, φ", *places.values()],
            [
                [f"{row[0]:g}–{row[1]:g}", *(found.get((low, row[0], place), "") for place in places)]
                for row in rows
            ],
        )
        for low, high in sorted({(cell["p_min"], cell["p_max"]) for cell in cells})
    }


def _direction(cell: Mapping[str, Any]) -> tuple[float, str]:
    """Position and name of the column of a cell's φ or plane."""
    if "plane" in cell:
        return ("horizontal", "diagonal", "vertical").index(cell["plane"]), cell["plane"][:4] + "."
    middle = (cell["phi_min"] + cell["phi_max"]) / 2
    return middle, f"{np.degrees(middle):.0f}°"


def directions_page(fits: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of ``directions.html``: the fits that measure momentum with all detectors."""
    return {
        "fits": [
            {
                "title": FIT_NAMES[name],
                "planes": bias_maps(fit["directions"], SPAN, ERRORS),
                "maps": maps_by_charge(fit["cells"]),
            }
            for name, fit in fits.items()
            if "scores" in fit
        ],
        "errors": ERRORS,
    }


def maps_by_charge(cells: Sequence[Mapping[str, Any]]) -> dict[str, Maps]:
    """Show the bias of δp/p by η, φ and momentum, for each charge that there is."""
    charges = {"positive": 1, "negative": -1}
    maps = {
        text: bias_maps([cell for cell in cells if cell["charge"] == charge], SPAN, ERRORS)
        for text, charge in charges.items()
    }
    return {text: own for text, own in maps.items() if own}
