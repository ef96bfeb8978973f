"""The page of a fit in slices: the figures by momentum, direction, charge and hits."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from parkf.report.drawing import Drawn, Panel
from parkf.report.figures import BAND, COMPONENTS, error_bars
from parkf.report.tables import Columns, exact, table_of, with_error

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
        "kept [%]": lambda row: with_error(row, "kept", ".1f", 100),
        "median χ²/ndof": lambda row: exact(f"{row['chi2_median']:.2f}", row["chi2_median"]),
    }
    return {
        "fates": table_of(fit["fates"], fates, text=("candidates",)),
        "slices": {
            title: {"anchor": variable, "figure": _draw(variable, title, bins)}
            for variable, title in TITLES.items()
            if (bins := fit["breakdown"][variable])
        },
    }


def _draw(variable: str, title: str, bins: Sequence[Mapping[str, Any]]) -> Drawn:
    """Draw core and bias of δp/p and the pull widths of each slice, and the fractions that a cut keeps."""
    names, places = _labels(variable, bins), range(len(bins))
    pulls = []
    for number, (component, text) in enumerate(COMPONENTS.items()):
        beside = [place + 0.08 * (number - 2) for place in places]
        pulls.append(error_bars(f"pull of {text}", beside, [one["pulls"] for one in bins], component, number))
    core, bias = ([error_bars(f"{key} of δp/p", places, bins, key, 0, 100.0)] for key in ("core", "bias"))
    kept = []
    for number, (quantity, text) in enumerate(_KEPT.items()):
        known = [place for place in places if bins[place][quantity] is not None]
        if known:
            kept.append(error_bars(text, known, [bins[place] for place in known], quantity, number))
    panels = [
        # The axis starts at zero; an axis that ends at the points would exaggerate differences.
        Panel(title, "core width of δp/p [%]", core, names=names, y_limits=(0.0, None)),
        Panel(title, "bias of δp/p [%]", bias, names=names, levels=(0.0,)),
        Panel(title, "pull width", pulls, names=names, band=BAND),
        Panel(title, "fraction", kept, names=names, y_limits=(0.0, 1.05)),
    ]
    return Drawn(variable, f"{title}: resolution, pulls and what a cut keeps", panels)


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
