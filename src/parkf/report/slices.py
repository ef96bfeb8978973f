"""Figures and tables of a fit by direction, charge and hits."""

from collections.abc import Mapping, Sequence
from typing import Any

from parkf.report.figures import COMPONENTS, figure
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
}
# Variables of few values.
_NAMES = {
    "charge": ("−", "+"),
    "polarity": ("down", "up"),
    "side": ("tx < 0", "tx > 0"),
    "half": ("ty < 0", "ty > 0"),
    "purity": ("0.7–0.9", "0.9–1", "all"),
}
_OPEN = 1000.0  # the last slice of scatterings has no end
_COUNTS = ("velo_hits", "ut_layers", "scifi_layers")


def draw(variable: str, bins: Sequence[Mapping[str, Any]]) -> str:
    """Draw width of δp/p, pull widths and efficiencies of each slice."""
    places, names = range(len(bins)), _labels(variable, bins)
    with figure(3, width=3.8, height=2.6) as drawn:
        core, pulls, kept = drawn.axes
        widths = [100 * b["core"] for b in bins]
        core.errorbar(places, widths, yerr=[100 * b["core_error"] for b in bins], fmt="o")
        # By itself the axis would end at the points where all are alike.
        core.set(ylabel="core width of δp/p [%]", ylim=(0, 1.2 * max(widths)))
        for component, text in COMPONENTS.items():
            pulls.plot(places, [b["pulls"][component] for b in bins], "o-", ms=3, lw=0.8, label=text)
        pulls.axhspan(0.95, 1.05, color="grey", alpha=0.15, lw=0)
        pulls.set(ylabel="pull width", ylim=(0.8, None))
        pulls.legend(fontsize=7, ncols=5, columnspacing=0.8, handlelength=1)
        for quantity, text in (("genuine", "genuine kept"), ("ghost", "ghosts kept"), ("purity", "purity")):
            shares = [(place, b[quantity]) for place, b in zip(places, bins, strict=True)]
            shown = [(place, share) for place, share in shares if share is not None]
            if shown:
                kept.plot(*zip(*shown, strict=True), "o-", ms=3, lw=0.8, label=text)
        kept.set(ylim=(0, 1.05))
        kept.legend(fontsize=7)
        for axes in drawn.axes:
            axes.set_xticks(places, labels=names, rotation=30 if len(names) > 4 else 0, fontsize=8)
            axes.set_xlim(-0.5, len(bins) - 0.5)
    return drawn.svg


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
    if variable == "hardest":
        return [f"{b['low']:g}–{b['high']:g}" if b["high"] < _OPEN else f"> {b['low']:g}" for b in bins]
    if variable in _COUNTS:
        return [_count(int(b["low"]), int(b["high"]) - 1) for b in bins]
    return [f"{b['low']:.3g}–{b['high']:.3g}" for b in bins]


def _count(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}–{high}"
