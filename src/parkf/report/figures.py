"""The figures of the pages, made from the numbers of a run."""

from collections.abc import Mapping, Sequence
from math import exp, pi, sqrt
from typing import Any

from parkf.fit.sample import GENUINE_P
from parkf.report.drawing import Drawn, Panel, Series
from parkf.report.words import texts
from parkf.simulation.generate.decays import DECAYS
from parkf.training.result import Profile

FIT_NAMES = {
    "parkf": "ParKF (smoother)",
    "parkf_robust": "ParKF, robust",
    "trigger": "LHCb's trigger",
    "full": "full fit",
}
COMPONENTS = {"x": "x", "y": "y", "tx": "tx", "ty": "ty", "qop": "q/p"}
_P = "true p [GeV]"
BAND = (0.95, 1.05)  # where widths of pulls should be
_ASIDE = 1.06  # ratio of the positions in one bin, so that fits do not hide each other
_CURVE = 160  # points of a smooth line

_WORDS = texts("figures")

Fits = Mapping[str, Any]
Names = Mapping[str, str]


def momentum(fits: Fits, names: Names = FIT_NAMES, *, name: str = "momentum") -> Drawn:
    """Draw momentum resolution and bias against momentum; `names` are the fits' names in the legend."""
    bins = {of: fit["momentum"] for of, fit in fits.items()}
    core, bias = (_by_momentum(bins, names, quantity, 100.0) for quantity in ("core", "bias"))
    panels = [
        Panel(_P, "core width of δp/p [%]", core, x_log=True, y_limits=(0.0, None)),
        Panel(_P, "core mean of δp/p [%]", bias, x_log=True, levels=(0.0,)),
    ]
    return Drawn(name, panels=panels, **_WORDS[name])


def _by_momentum(
    bins: Mapping[str, Sequence[Mapping[str, Any]]], names: Names, quantity: str, factor: float = 1.0
) -> list[Series]:
    """Draw a quantity of several fits in bins of momentum, which horizontal bars show."""
    series = []
    for number, (of, own) in enumerate(bins.items()):
        reach = [(max(one["p_min"], 1e-3 * GENUINE_P), one["p_max"]) for one in own]
        x = _centres(own, number, len(bins))
        series.append(error_bars(names[of], x, own, quantity, number, factor, reach))
    return series


def error_bars(
    name: str,
    x: Sequence[float],
    entries: Sequence[Mapping[str, Any]],
    quantity: str,
    colour: int,
    factor: float = 1.0,
    reach: Sequence[tuple[float, float]] | None = None,
) -> Series:
    """Return `quantity` of each entry and its error, `<quantity>_error`, both times a factor, as points."""
    y, error = ([factor * entry[key] for entry in entries] for key in (quantity, f"{quantity}_error"))
    return Series(name, x, y, error, reach, colour=colour)


def _centres(bins: Sequence[Mapping[str, Any]], number: int = 0, of: int = 1) -> list[float]:
    """Return the positions of one of several series in momentum bins, shifted so that no series is hidden."""
    return [sqrt(b["p_min"] * b["p_max"]) * _ASIDE ** (number - (of - 1) / 2) for b in bins]


def _histogram(name: str, histogram: Mapping[str, Any], colour: int, *, filled: bool = False) -> Series:
    return Series(name, histogram["edges"], histogram["content"], shape="steps", colour=colour, filled=filled)


def _along(edges: Sequence[float]) -> list[float]:
    """Return the positions of a smooth line over a histogram."""
    return [edges[0] + (edges[-1] - edges[0]) * i / _CURVE for i in range(_CURVE + 1)]


def pulls(fits: Fits) -> Drawn:
    """Draw the pull distributions of the five parameters with the unit Gaussian."""
    panels = []
    for component, text in COMPONENTS.items():
        histograms = {name: fit["histograms"]["pulls"][component] for name, fit in fits.items()}
        series = [_histogram(FIT_NAMES[name], one, n) for n, (name, one) in enumerate(histograms.items())]
        edges = next(iter(histograms.values()))["edges"]
        places = _along(edges)
        unit = [exp(-(u**2) / 2) / sqrt(2 * pi) * (edges[1] - edges[0]) for u in places]
        series.append(Series("unit Gaussian", places, unit, shape="line", colour=6, dashed=True))
        panels.append(Panel(f"pull of {text}", "fraction of tracks per bin", series, y_limits=(0.0, None)))
    return Drawn("pulls", panels=panels, **_WORDS["pulls"])


def pull_widths(fits: Fits) -> Drawn:
    """Draw the pull widths of the five parameters against momentum."""
    panels = []
    for component, text in COMPONENTS.items():
        bins = {name: [{**b, **b["pulls"][component]} for b in fit["momentum"]] for name, fit in fits.items()}
        series = _by_momentum(bins, FIT_NAMES, "width")
        panels.append(Panel(_P, f"pull width of {text}", series, x_log=True, band=BAND))
    return Drawn("pull-widths", panels=panels, **_WORDS["pull-widths"])


def verdict(fits: Fits) -> Drawn:
    """Draw the decisive figures of sets on the same tracks: resolution, bias, pull widths and ghosts."""
    widths, curves = [], []
    for number, (name, fit) in enumerate(fits.items()):
        x = [place + 0.12 * (number - (len(fits) - 1) / 2) for place in range(len(COMPONENTS))]
        widths.append(error_bars(name, x, [fit["pulls"][c] for c in COMPONENTS], "width", number))
        curves.append(_roc(name, fit, number, dashed=number > 0, factor=100.0))
    components = list(COMPONENTS.values())
    panels = [
        *momentum(fits, {name: name for name in fits}).panels,
        Panel("", "pull width", widths, names=components, band=BAND),
        Panel(
            "genuine efficiency [%]",
            "ghost efficiency [%]",
            curves,
            x_limits=(80.0, 100.0),
            y_limits=(0.0, 60.0),
        ),
    ]
    return Drawn("verdict", panels=panels, **_WORDS["verdict"])


def ghosts(fits: Fits) -> Drawn:
    """Draw χ²/ndof of genuine tracks and ghosts, and the ROC curves."""
    own = fits["parkf"]
    chi2 = [
        _histogram(kind, own["histograms"]["chi2"][kind], colour, filled=True)
        for colour, kind in ((5, "genuine"), (6, "ghost"))
    ]
    curves = [_roc(FIT_NAMES[name], fit, colour) for colour, (name, fit) in enumerate(fits.items())]
    curves.append(Series("paper: 91 %, 29 %", [0.91], [0.29], colour=6))
    limits: dict[str, Any] = {"x_limits": (0.6, 1.0), "y_limits": (0.0, 1.0)}
    panels = [
        Panel("χ²/ndof (ParKF)", "fraction of candidates per bin", chi2, y_limits=(0.0, None)),
        Panel("genuine efficiency", "ghost efficiency", curves, **limits),
    ]
    return Drawn("ghosts", panels=panels, **_WORDS["ghosts"])


def _roc(
    name: str, measured: Mapping[str, Any], colour: int, *, dashed: bool = False, factor: float = 1.0
) -> Series:
    """Draw the efficiency of genuine tracks against that of ghosts, each pair of values once."""
    pairs = dict.fromkeys((round(p["genuine"], 5), round(p["ghost"], 5)) for p in measured["roc"])
    x, y = ([factor * pair[which] for pair in pairs] for which in (0, 1))
    return Series(name, x, y, shape="line", colour=colour, dashed=dashed)


def impact(fits: Fits) -> Drawn:
    """Draw resolution and pull of the impact parameters against 1/pT."""
    panels = []
    for quantity, factor, label, band in (
        ("x", 1000.0, "resolution of IP in x [µm]", None),
        ("y", 1000.0, "resolution of IP in y [µm]", None),
        ("pull_x", 1.0, "pull width of IP in x", BAND),
        ("pull_y", 1.0, "pull width of IP in y", BAND),
    ):
        series = []
        for number, (name, fit) in enumerate(fits.items()):
            middles = [(one["low"] + one["high"]) / 2 for one in fit["impact"]]
            series.append(error_bars(FIT_NAMES[name], middles, fit["impact"], quantity, number, factor))
        panels.append(Panel("1/pT [1/GeV]", label, series, y_limits=(0.0, None), band=band))
    return Drawn("impact", panels=panels, **_WORDS["impact"])


def masses(fits: Fits) -> Drawn:
    """Draw the mass peaks of every fit that has them, with the double Gaussians."""
    panels = []
    for signal in ("jpsi", "d0"):
        title, series = DECAYS[signal].title, []
        for number, (name, fit) in enumerate(fits.items()):
            peak = fit["masses"][signal]
            edges = peak["histogram"]["edges"]
            scale = peak["n"] * (edges[1] - edges[0]) / sqrt(2 * pi)
            both = ((peak["share"], peak["narrow"]), (1 - peak["share"], peak["wide"]))
            places = _along(edges)
            shape = [
                scale * sum(s / w * exp(-0.5 * ((m - peak["mean"]) / w) ** 2) for s, w in both)
                for m in places
            ]
            series.append(_histogram(FIT_NAMES[name], peak["histogram"], number))
            series.append(Series(FIT_NAMES[name], places, shape, shape="line", colour=number))
        panels.append(Panel(f"mass of {title} [MeV]", "pairs a bin", series, y_limits=(0.0, None)))
    return Drawn("masses", panels=panels, **_WORDS["masses"])


def table_accuracy(rows: Sequence[Mapping[str, Any]]) -> Drawn:
    """Draw 68% and 99% of |table − target| against momentum for the four components."""
    units = {"x": ("mm", 1.0), "y": ("mm", 1.0), "tx": ("mrad", 1e3), "ty": ("mrad", 1e3)}
    panels = []
    for component, (unit, scale) in units.items():
        chosen = [row for row in rows if row["component"] == component]
        series = [
            Series(label, _centres(chosen), [scale * row[q] for row in chosen], shape="joined", colour=number)
            for number, (q, label) in enumerate((("q68", "68 %"), ("q99", "99 %")))
        ]
        panels.append(Panel("p [GeV]", f"|δ{component}| [{unit}]", series, x_log=True, y_log=True))
    return Drawn("magnet", panels=panels, **_WORDS["magnet"])


def profiles(name: str, shown: Sequence[Profile]) -> Drawn:
    """Draw mean and RMS of δ_par/σ_MS of the four components against each variable."""
    units = {"p": "p [GeV]", "x": "x [mm]", "y": "y [mm]", "tx": "tx", "ty": "ty"}
    panels = []
    for profile in shown:
        series = []
        for number, (component, mean) in enumerate(profile.mean.items()):
            label, edges, rms = COMPONENTS[component], profile.edges, profile.rms[component]
            series.append(Series(label, edges, mean, shape="steps", colour=number))
            series.append(Series(f"{label}, RMS", edges, rms, shape="steps", colour=number, dashed=True))
        p = profile.variable == "p"
        panels.append(Panel(units[profile.variable], "δ_par/σ_MS", series, x_log=p, levels=(0.0,)))
    return Drawn(name, panels=panels, **_WORDS["profiles"])
