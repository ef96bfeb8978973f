"""The page of a fit in slices: the figures by momentum, direction, charge and hits."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from parkf.report.drawing import Drawn, Panel, Series
from parkf.report.figures import COMPONENTS, error_bars
from parkf.report.tables import Cells, Columns, table_of, with_error

TITLES = {
    "p": "Fitted momentum [GeV]",
    "eta": "Pseudorapidity",
    "phi": "Azimuth, slices by their middle",
    "charge": "Charge",
    "polarity": "Polarity",
    "side": "Side (sign of tx)",
    "half": "Half (sign of ty)",
    "velo_hits": "VELO hits",
    "ut_layers": "UT layers",
    "scifi_layers": "SciFi layers",
    "purity": "Fraction of hits that are of its particle",
    "hardest": "Largest scattering in one layer, over its width",
    "born": "Distance of the origin from the beam [mm]",
    "origin_z": "z of the origin [mm]",
    "displacement": "True distance of the track from the z axis [mm]",
    "scifi_x": "|x| of the first SciFi hit [m]",
}
# Names of the slices of variables that have few values.
_NAMES = {
    "charge": ["−", "+"],
    "polarity": ["down", "up"],
    "side": ["tx < 0", "tx > 0"],
    "half": ["ty < 0", "ty > 0"],
    "purity": ["0.7–0.9", "0.9–1", "all"],
}
_OPEN = 1000.0  # the last slice of scatterings and origins has no end
_KEPT = {"genuine": "genuine kept", "ghost": "ghosts kept", "purity": "purity"}


def slices_page(fit: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of ``slices.html``: fractions that a cut keeps, by fate, and figures by variable."""
    fates: Columns = {
        "candidates": lambda row: row["fate"],
        "number": lambda row: str(row["n"]),
        "kept [%]": lambda row: f"{100 * row['kept']:.1f}",
        "median χ²/ndof": lambda row: f"{row['chi2_median']:.2f}",
    }
    return {
        "fates": table_of(fit["fates"], fates, text=("candidates",)),
        "slices": {
            title: {"anchor": variable, "figure": _draw(variable, bins), "table": _table(variable, bins)}
            for variable, title in TITLES.items()
            if (bins := fit["breakdown"][variable])
        },
    }


def _draw(variable: str, bins: Sequence[Mapping[str, Any]]) -> Drawn:
    """Draw width of δp/p, pull widths and efficiencies of each slice."""
    places, names = range(len(bins)), _labels(variable, bins)
    pulls = [
        Series(
            f"pull of {text}", places, [b["pulls"][component] for b in bins], shape="joined", colour=number
        )
        for number, (component, text) in enumerate(COMPONENTS.items())
    ]
    kept = [
        Series(text, places, [b[quantity] for b in bins], shape="joined", colour=number, dashed=True)
        for number, (quantity, text) in enumerate(_KEPT.items())
        if any(b[quantity] is not None for b in bins)
    ]
    core = [error_bars("core of δp/p", places, bins, "core", 0, 100)]
    return Drawn(
        variable,
        f"{TITLES[variable]}: resolution, pulls and what a cut keeps",
        [
            # The axis starts at zero; an axis that ends at the points would exaggerate differences.
            Panel("", "core width of δp/p [%]", core, names=names, y_limits=(0.0, None)),
            Panel("", "pull width", pulls, names=names, band=(0.95, 1.05)),
            Panel("", "fraction", kept, names=names, y_limits=(0.0, 1.05)),
        ],
        small=True,
    )


def _table(variable: str, bins: Sequence[Mapping[str, Any]]) -> Cells:
    head = [
        "slice",
        "tracks",
        "core of δp/p [%]",
        "bias [%]",
        *(f"pull {text}" for text in COMPONENTS.values()),
    ]
    return Cells(
        [*head, *(f"{text} [%]" for text in _KEPT.values())],
        [
            [
                name,
                str(b["n"]),
                with_error(b, "core", ".3f", 100),
                with_error(b, "bias", "+.3f", 100),
                *(f"{b['pulls'][component]:.3f}" for component in COMPONENTS),
                *("–" if b[quantity] is None else f"{100 * b[quantity]:.1f}" for quantity in _KEPT),
            ]
            for name, b in zip(_labels(variable, bins), bins, strict=True)
        ],
    )


def _labels(variable: str, bins: Sequence[Mapping[str, Any]]) -> list[str]:
    names = _NAMES.get(variable, [])
    if len(names) == len(bins):
        return names
    edges = [(b["low"], b["high"]) for b in bins]
    if variable in ("hardest", "born"):
        return [f"{low:g}–{high:g}" if high < _OPEN else f"> {low:g}" for low, high in edges]
    if variable in ("velo_hits", "ut_layers", "scifi_layers"):
        # A slice ends before its upper edge.
        counts = [(int(low), int(high) - 1) for low, high in edges]
        return [f"{low}" if low == high else f"{low}–{high}" for low, high in counts]
    if variable == "phi":
        return [f"{math.degrees(low + high) / 2:.0f}°".replace("-", "−") for low, high in edges]
    return [
        f"{low:.3g}–{high:.3g}" if low >= 0 else f"{low:.3g}…{high:.3g}".replace("-", "−")
        for low, high in edges
    ]
