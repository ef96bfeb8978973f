"""A figure of steps or sets by component and momentum."""

import math
from collections.abc import Mapping

from parkf.report.heat import HeatMap, Spot

Bins = Mapping[str, Mapping[str, Mapping[tuple[float, float], float]]]
COMPONENTS = ("x", "y", "tx", "ty")


def step_map(values: Bins, *, span: float) -> HeatMap:
    """Lay a number out as a map of rows and momentum bins, component by component.

    Parameters
    ----------
    values : mapping
        Row, then component, then (p_min, p_max) in GeV.
    span : float
        Factor above and below one at which the colours are full; white is one.
    """
    bins = sorted({edges for row in values.values() for cells in row.values() for edges in cells})

    def spot(number: float | None) -> Spot | None:
        return None if number is None else Spot(f"{number:.2g}", math.log(number) / math.log(span))

    return HeatMap(
        corner="p [GeV]",
        columns=[(component, f"{low:g}–{high:g}") for component in COMPONENTS for low, high in bins],
        rows={
            name: [spot(row.get(component, {}).get(edges)) for component in COMPONENTS for edges in bins]
            for name, row in values.items()
        },
    )
