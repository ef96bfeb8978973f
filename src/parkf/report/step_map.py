"""A figure of steps or sets by component and momentum."""

import math
from collections.abc import Callable, Mapping

from parkf.report.heat import HeatMap, Scale, Spot

Bins = Mapping[str, Mapping[str, Mapping[tuple[float, float], float]]]
COMPONENTS = ("x", "y", "tx", "ty")
# Misfit over scattering at which a map is white, and darkest; in between by the logarithm.
_CLEAN, _BAD = 0.1, 3.0
# Factor above and below one from which on the colour of a width is the darkest.
_WIDE = 1.3


def ratio_map(values: Bins) -> HeatMap:
    """Lay misfits over the scattering out: by row, component, and (p_min, p_max) in GeV."""

    def place(ratio: float) -> float:
        return max(math.log(max(ratio, 1e-9) / _CLEAN) / math.log(_BAD / _CLEAN), 0.0)

    marks = [
        (place(r), text)
        for r, text in ((0.1, "≤ 0.1"), (0.25, "0.25"), (0.5, "0.5"), (1.0, "1"), (3.0, "≥ 3"))
    ]
    return _lay_out(values, place, Scale("δ_par/σ_MS", marks))


def width_map(values: Bins) -> HeatMap:
    """Lay widths that ought to be one out, in the same way: blue is too narrow, red too wide."""

    def place(width: float) -> float:
        return math.log(width) / math.log(_WIDE)

    return _lay_out(
        values, place, Scale("width", [(place(w), f"{w:g}") for w in (0.77, 0.87, 1.0, 1.14, 1.3)])
    )


def _lay_out(values: Bins, place: Callable[[float], float], scale: Scale) -> HeatMap:
    bins = sorted({edges for row in values.values() for cells in row.values() for edges in cells})

    def spot(number: float | None) -> Spot | None:
        return None if number is None else Spot(f"{number:.2g}", place(number))

    return HeatMap(
        corner="p [GeV]",
        columns=[(component, f"{low:g}–{high:g}") for component in COMPONENTS for low, high in bins],
        rows={
            name: [spot(row.get(component, {}).get(edges)) for component in COMPONENTS for edges in bins]
            for name, row in values.items()
        },
        scale=scale,
    )
