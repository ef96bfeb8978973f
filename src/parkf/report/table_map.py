"""Maps of the magnet table's misfit by place, for each momentum."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from parkf.report.heat import HeatMap, Scale, Spot

# Unit that numbers of a map are written in, and how many of it make a mm or a rad.
_UNITS = {"x": ("µm", 1e3), "y": ("µm", 1e3), "tx": ("µrad", 1e6), "ty": ("µrad", 1e6)}
# Multiple of the median of its map from which on a cell has the darkest colour.
_DARKEST = 8.0


def table_maps(maps: Mapping[str, Any]) -> dict[str, HeatMap]:
    """Lay ``table.maps`` of ``accuracy.json`` out: by momentum, the four components beside each other."""
    columns = [_named(low, high) for low, high in pairwise(maps["x"])]
    rows = [_named(low, high) for low, high in pairwise(maps["y"])]
    momenta: dict[str, list[Mapping[str, Any]]] = {}
    for one in maps["cells"]:
        momenta.setdefault(f"{one['p_min']:g}–{one['p_max']:g} GeV", []).append(one)
    marks = [(_shade(ratio), f"{ratio:g}") for ratio in (1.0, 2.0, 4.0, _DARKEST)]
    scale = Scale("misfit over the map's median", marks)

    def laid_out(several: Sequence[Mapping[str, Any]]) -> HeatMap:
        names = [f"{one['component']} [{_UNITS[one['component']][0]}]" for one in several]
        spots = [_spots(one) for one in several]
        return HeatMap(
            corner="y, x [mm]",
            columns=[(name, column) for name in names for column in columns],
            # The largest y comes first, so that up in the table is up in the detector.
            rows={rows[j]: [spot for one in spots for spot in one[j]] for j in reversed(range(len(rows)))},
            scale=scale,
        )

    return {momentum: laid_out(several) for momentum, several in momenta.items()}


def _named(low: float, high: float) -> str:
    return f"{(low + high) / 2:.0f}".replace("-", "−")


def _spots(one: Mapping[str, Any]) -> list[list[Spot | None]]:
    scale = _UNITS[one["component"]][1]
    middle = median([value for row in one["q68"] for value in row if value is not None] or [1.0])
    return [
        [None if value is None else Spot(_plain(scale * value), _shade(value / middle)) for value in row]
        for row in one["q68"]
    ]


def _plain(value: float) -> str:
    """Two digits, and no powers of ten."""
    return f"{float(f'{value:.2g}'):g}"


def _shade(ratio: float) -> float:
    """From 0 at the median to 1; what is better than the median is white, too."""
    return min(max(math.log(max(ratio, 1e-9)) / math.log(_DARKEST), 0.0), 1.0)
