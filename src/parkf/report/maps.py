"""Maps of a set: misfits of its steps and of its magnet table, and biases by direction."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np

from parkf.report.heat import HeatMap, Spot

# Numbers by row, component, and p_min and p_max in GeV.
Bins = Mapping[tuple[str, str, float, float], float]
_COMPONENTS = ("x", "y", "tx", "ty")
# Misfit over scattering of cells without colour, and of the strongest ones. Shades are logarithmic.
_CLEAN, _BAD = 0.1, 3.0
# A width that deviates from one by this factor, up or down, has the strongest colour.
_WIDE = 1.3
# Unit of the table's misfits on the page, and its ratio to mm or rad.
_UNITS = {"x": ("µm", 1e3), "y": ("µm", 1e3), "tx": ("µrad", 1e6), "ty": ("µrad", 1e6)}
# A cell has the strongest colour if it exceeds its map's median by this factor.
_DARKEST = 8.0


def ratio_map(values: Bins) -> HeatMap:
    """Draw misfits over the scattering."""

    def value(ratio: float) -> float:
        return max(math.log(max(ratio, 1e-9) / _CLEAN) / math.log(_BAD / _CLEAN), 0.0)

    marks = {0.1: "≤ 0.1", 0.25: "0.25", 0.5: "0.5", 1.0: "1", 3.0: "≥ 3"}
    return _step_map(values, value, "δ_par/σ_MS", marks)


def width_map(values: Bins) -> HeatMap:
    """Draw widths that should be one: blue is too narrow, red too wide."""
    marks = {width: f"{width:g}" for width in (0.77, 0.87, 1.0, 1.14, 1.3)}
    return _step_map(values, lambda width: math.log(width) / math.log(_WIDE), "width", marks)


def _step_map(
    values: Bins, value: Callable[[float], float], label: str, marks: Mapping[float, str]
) -> HeatMap:
    columns = [
        (component, *bins) for component in _COMPONENTS for bins in sorted({key[2:] for key in values})
    ]

    def spot(*key: Any) -> Spot | None:
        return Spot(f"{values[key]:.2g}", value(values[key])) if key in values else None

    return HeatMap(
        "p [GeV]",
        [(component, f"{low:g}–{high:g}") for component, low, high in columns],
        {name: [spot(name, *column) for column in columns] for name, *_ in values},
        label,
        [(value(number), text) for number, text in marks.items()],
    )


def table_maps(maps: Mapping[str, Any]) -> dict[str, HeatMap]:
    """Draw ``table.maps`` of ``accuracy.json``: by momentum, the four components beside each other."""
    middles = ([sum(edges) / 2 for edges in pairwise(maps[axis])] for axis in ("x", "y"))
    columns, rows = ([f"{middle:.0f}".replace("-", "−") for middle in axis] for axis in middles)
    momenta: dict[str, list[Mapping[str, Any]]] = {}
    for one in maps["cells"]:
        momenta.setdefault(f"{one['p_min']:g}–{one['p_max']:g} GeV", []).append(one)

    def one_map(several: Sequence[Mapping[str, Any]]) -> HeatMap:
        spots = [_spots(one) for one in several]
        return HeatMap(
            "y, x [mm]",
            [
                (f"{one['component']} [{_UNITS[one['component']][0]}]", column)
                for one in several
                for column in columns
            ],
            # The largest y comes first, so that the top of the table is the top of the detector.
            {rows[j]: [spot for one in spots for spot in one[j]] for j in reversed(range(len(rows)))},
            "misfit over the map's median",
            [(_excess(ratio), f"{ratio:g}") for ratio in (1.0, 2.0, 4.0, _DARKEST)],
        )

    return {momentum: one_map(several) for momentum, several in momenta.items()}


def _spots(one: Mapping[str, Any]) -> list[list[Spot | None]]:
    scale = _UNITS[one["component"]][1]
    middle = median([value for row in one["q68"] for value in row if value is not None] or [1.0])

    def spot(value: float | None) -> Spot | None:
        if value is None:
            return None
        # Numbers have two digits, and no powers of ten.
        return Spot(f"{float(f'{scale * value:.2g}'):g}", _excess(value / middle))

    return [[spot(value) for value in row] for row in one["q68"]]


def _excess(ratio: float) -> float:
    """Return 0 up to the median, and 1 for the strongest colour."""
    return min(max(math.log(max(ratio, 1e-9)) / math.log(_DARKEST), 0.0), 1.0)


def bias_map(
    cells: Sequence[Mapping[str, Any]], label: str, span: float, errors: float = math.inf
) -> HeatMap:
    """Draw a bias by η and, for each momentum, φ or plane.

    Colours are strongest for biases of `span` (%) or more. A bias that exceeds `errors` standard errors is
    emphasised.
    """
    columns = sorted({(cell["p_min"], cell["p_max"], *_direction(cell)) for cell in cells})
    rows = sorted({(cell["eta_min"], cell["eta_max"]) for cell in cells}, reverse=True)
    spots = {}
    for cell in cells:
        bias, error = 100 * cell["bias"], 100 * cell["bias_error"]
        spots[cell["eta_min"], cell["p_min"], _direction(cell)[0]] = Spot(
            f"{bias:+.2f}", bias / span, sure=abs(bias) > errors * error
        )
    marks = (-1.0, -2 / 3, -1 / 3, 0.0, 1 / 3, 2 / 3, 1.0)
    return HeatMap(
        "η",
        [(f"{low:g}–{high:g} GeV", name) for low, high, _, name in columns],
        {
            f"{low:g}–{high:g}": [spots.get((low, p, place)) for p, _, place, _ in columns]
            for low, high in rows
        },
        label,
        [(mark, f"{mark * span:+.2g} %".replace("-", "−")) for mark in marks],
    )


def _direction(cell: Mapping[str, Any]) -> tuple[float, str]:
    """Position and name of the column of a cell's φ or plane."""
    if "plane" in cell:
        return ("horizontal", "diagonal", "vertical").index(cell["plane"]), cell["plane"][:4] + "."
    middle = (cell["phi_min"] + cell["phi_max"]) / 2
    return middle, f"{np.degrees(middle):.0f}°"
