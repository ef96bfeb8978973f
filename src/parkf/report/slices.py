"""Figures and tables of a fit by direction, charge and hits."""

from collections.abc import Mapping, Sequence
from typing import Any

from parkf.report.drawing import Drawn, Panel, Series
from parkf.report.figures import COMPONENTS
from parkf.report.tables import Cells

TITLES = {
    "p": "Momentum [GeV]",
    "eta": "Pseudorapidity",
    "phi": "Azimuth [rad]",
    "charge": "Charge",
    "polarity": "Polarity",
    "side": "Side (sign of tx)",
    "half": "Half (sign of ty)",
    "velo_hits": "VELO hits",
    "ut_layers": "UT layers",
    "scifi_layers": "SciFi layers",
    "purity": "Share of hits that are its own",
    "hardest": "Largest scattering of one layer, over its width",
    "born": "Distance of the origin from the beam [mm]",
}
# Variables of few values.
_NAMES = {
    "charge": ("−", "+"),
    "polarity": ("down", "up"),
    "side": ("tx < 0", "tx > 0"),
    "half": ("ty < 0", "ty > 0"),
    "purity": ("0.7–0.9", "0.9–1", "all"),
}
_OPEN = 1000.0  # the last slice of scatterings and origins has no end
_COUNTS = ("velo_hits", "ut_layers", "scifi_layers")


def draw(variable: str, bins: Sequence[Mapping[str, Any]]) -> Drawn:
    """Draw width of δp/p, pull widths and efficiencies of each slice."""
    places, names = list(range(len(bins))), _labels(variable, bins)
    core = Series(
        "core of δp/p", places, [100 * b["core"] for b in bins], [100 * b["core_error"] for b in bins]
    )
    pulls = [
        Series(
            f"pull of {text}", places, [b["pulls"][component] for b in bins], shape="joined", colour=number
        )
        for number, (component, text) in enumerate(COMPONENTS.items())
    ]
    kept = [
        Series(text, places, [b[quantity] for b in bins], shape="joined", colour=number, dashed=True)
        for number, (quantity, text) in enumerate(
            (("genuine", "genuine kept"), ("ghost", "ghosts kept"), ("purity", "purity"))
        )
        if any(b[quantity] is not None for b in bins)
    ]
    return Drawn(
        variable,
        f"{TITLES[variable]}: resolution, pulls and what a cut keeps",
        [
            # From zero: an axis that ends at the points would exaggerate small differences.
            Panel("", "core width of δp/p [%]", [core], names=names, y_limits=(0.0, None)),
            Panel("", "pull width", pulls, names=names, band=(0.95, 1.05), y_limits=(0.8, None)),
            Panel("", "share", kept, names=names, y_limits=(0.0, 1.05)),
        ],
        small=True,
    )


def table(variable: str, bins: Sequence[Mapping[str, Any]]) -> Cells:
    """Write the same figures as numbers."""
    head = ["slice", "tracks", "core of δp/p [%]", "bias [%]", *(f"pull {c}" for c in COMPONENTS)]
    return Cells(
        [*head, "genuine kept [%]", "ghosts kept [%]", "purity [%]"],
        [
            [
                name,
                str(b["n"]),
                f"{100 * b['core']:.3f} ± {100 * b['core_error']:.3f}",
                f"{100 * b['bias']:+.3f} ± {100 * b['bias_error']:.3f}",
                *(f"{b['pulls'][component]:.3f}" for component in COMPONENTS),
                *("–" if b[q] is None else f"{100 * b[q]:.1f}" for q in ("genuine", "ghost", "purity")),
            ]
            for name, b in zip(_labels(variable, bins), bins, strict=True)
        ],
    )


def fates(rows: Sequence[Mapping[str, Any]]) -> Cells:
    """Write what the cut keeps of tracks and of ghosts with and without an end."""
    return Cells(
        ["candidates", "number", "kept [%]", "median χ²/ndof"],
        [
            [row["fate"], str(row["n"]), f"{100 * row['kept']:.1f}", f"{row['chi2_median']:.2f}"]
            for row in rows
        ],
        text=("candidates",),
    )


def _labels(variable: str, bins: Sequence[Mapping[str, Any]]) -> list[str]:
    if variable in _NAMES and len(bins) == len(_NAMES[variable]):
        return list(_NAMES[variable])
    if variable in ("hardest", "born"):
        return [f"{b['low']:g}–{b['high']:g}" if b["high"] < _OPEN else f"> {b['low']:g}" for b in bins]
    if variable in _COUNTS:
        return [_count(int(b["low"]), int(b["high"]) - 1) for b in bins]
    return [f"{b['low']:.3g}–{b['high']:.3g}" for b in bins]


def _count(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}–{high}"
