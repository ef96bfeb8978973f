"""The figures of the pages: from numbers of a run to what is drawn, and what to make of it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import exp, pi, sqrt
from typing import Any

from parkf.report.drawing import Drawn, Panel, Series
from parkf.training.result import Profile

FIT_NAMES = {
    "parkf": "ParKF (smoother)",
    "parkf_robust": "ParKF, robust",
    "trigger": "LHCb's trigger",
    "velo_only": "VELO only",
    "full": "full fit",
}
COMPONENTS = {"x": "x", "y": "y", "tx": "tx", "ty": "ty", "qop": "q/p"}
_P = "true p [GeV]"
_ASIDE = 1.06
_CURVE = 160  # points of a smooth line


def momentum(
    fits: Mapping[str, Any], names: Mapping[str, str] = FIT_NAMES, *, name: str = "momentum"
) -> Drawn:
    """Draw momentum resolution and bias against momentum, with the names that the legend has for fits."""
    panels = [
        Panel(
            _P,
            f"{text} of δp/p [%]",
            [
                _by_momentum(fit["momentum"], quantity, names[of], number, len(fits))
                for number, (of, fit) in enumerate(fits.items())
            ],
            x_log=True,
            y_limits=(0.0, None) if quantity == "core" else (None, None),
            levels=() if quantity == "core" else (0.0,),
        )
        for quantity, text in (("core", "core width"), ("bias", "core mean"))
    ]
    return Drawn(
        name,
        "Momentum resolution and bias against momentum",
        panels,
        see=(
            "The Gaussian core of (p − p_true)/p_true in bins of true momentum: its width on the left, its"
            " mean on the right. Horizontal bars are bins, vertical ones statistical errors; points of one"
            " bin stand side by side."
        ),
        good="Good: widths below 1 %, on top of the full fit's; means within 0.1 % of zero.",
        otherwise=(
            "Otherwise: where all fits deviate in the same way, look at field and alignment; where the full"
            " fit does not, look at the step whose light is amber or red."
        ),
    )


def _by_momentum(bins: Sequence[Mapping[str, Any]], quantity: str, name: str, colour: int, of: int) -> Series:
    return Series(
        name,
        _centres(bins, colour - (of - 1) / 2),
        [100.0 * b[quantity] for b in bins],
        [100.0 * b[f"{quantity}_error"] for b in bins],
        [(b["p_min"], b["p_max"]) for b in bins],
        colour=colour,
    )


def _centres(bins: Iterable[Mapping[str, Any]], aside: float = 0.0) -> list[float]:
    """Return positions in bins of momentum, `aside` of the middle, so that fits do not hide each other."""
    return [sqrt(b["p_min"] * b["p_max"]) * _ASIDE**aside for b in bins]


def pulls(fits: Mapping[str, Any], names: Mapping[str, str] = FIT_NAMES) -> Drawn:
    """Draw the pull distributions of the five parameters with the unit Gaussian."""
    panels = []
    for component, text in COMPONENTS.items():
        series = []
        for number, (name, fit) in enumerate(fits.items()):
            histogram = fit["histograms"]["pulls"][component]
            edges = histogram["edges"]
            series.append(Series(names[name], edges, histogram["content"], shape="steps", colour=number))
        bin_width = edges[1] - edges[0]
        places = [edges[0] + (edges[-1] - edges[0]) * i / _CURVE for i in range(_CURVE + 1)]
        unit = [exp(-(u**2) / 2) / sqrt(2 * pi) * bin_width for u in places]
        series.append(Series("unit Gaussian", places, unit, shape="line", colour=6, dashed=True))
        panels.append(Panel(f"pull of {text}", "share of tracks a bin", series, y_limits=(0.0, None)))
    return Drawn(
        "pulls",
        "Pull distributions of the five parameters",
        panels,
        see=(
            "(fit − truth)/σ at the closest approach to the beam; the dashed line is the unit Gaussian that"
            " each should follow."
        ),
        good="Good: histograms on the dashed line; then the covariance is right.",
        otherwise=(
            "Otherwise: where a histogram is wider, the fit's errors are too small, where it is narrower,"
            " too large; where it is shifted, a layer or the beam line is not where the set has it."
        ),
        small=True,
    )


def pull_widths(fits: Mapping[str, Any], names: Mapping[str, str] = FIT_NAMES) -> Drawn:
    """Draw the pull widths of the five parameters against momentum."""
    panels = []
    for component, text in COMPONENTS.items():
        series = []
        for number, (name, fit) in enumerate(fits.items()):
            widths = [b["pulls"][component] for b in fit["momentum"]]
            series.append(
                Series(
                    names[name],
                    _centres(fit["momentum"], number - (len(fits) - 1) / 2),
                    [one["width"] for one in widths],
                    [one["width_error"] for one in widths],
                    colour=number,
                )
            )
        panels.append(
            Panel(_P, f"pull width of {text}", series, x_log=True, y_limits=(0.6, 1.6), band=(0.95, 1.05))
        )
    return Drawn(
        "pull-widths",
        "Pull widths of the five parameters against momentum",
        panels,
        see="Core widths of the pulls in bins of true momentum; the band is 5 % about one.",
        good="Good: in the band from 3 to 100 GeV.",
        otherwise=(
            "Otherwise: where pulls are too wide at low momentum only, the noise of a step is too small, as"
            " its page shows; where they are too wide at all momenta, the hit errors of a detector are."
        ),
        small=True,
    )


def verdict(fits: Mapping[str, Any], names: Mapping[str, str], *, same_tracks: bool) -> Drawn:
    """Draw what decides: resolution and bias, pull widths, ghosts, of sets beside each other."""
    widths = [
        Series(
            names[name],
            [number + 0.12 * (which - (len(fits) - 1) / 2) for number in range(len(COMPONENTS))],
            [fit["pulls"][component]["width"] for component in COMPONENTS],
            [fit["pulls"][component]["width_error"] for component in COMPONENTS],
            colour=which,
        )
        for which, (name, fit) in enumerate(fits.items())
    ]
    curves = [
        Series(names[name], *_roc(fit), shape="line", colour=which, dashed=which > 0)
        for which, (name, fit) in enumerate(fits.items())
    ]
    return Drawn(
        "verdict",
        "Resolution, bias, pulls and ghosts of this set and the published one",
        [
            *momentum(fits, names).panels,
            Panel(
                "",
                "pull width",
                widths,
                names=list(COMPONENTS.values()),
                band=(0.95, 1.05),
                y_limits=(0.8, 1.2),
            ),
            Panel(
                "genuine efficiency [%]",
                "ghost efficiency [%]",
                [
                    replace(one, x=[100 * v for v in one.x], y=[100 * (v or 0) for v in one.y])
                    for one in curves
                ],
                x_limits=(80.0, 100.0),
                y_limits=(0.0, 60.0),
            ),
        ],
        see=(
            "All sets fitted the same candidates, so that differences are known far better than each "
            "number's own error."
            if same_tracks
            else "Each set was measured on tracks of its own; bars are statistical errors."
        ),
        good="Good: on top of the published set, or below it in width and ghosts.",
        otherwise="Otherwise: read what changed, above, and look for the step whose light changed with it.",
        small=True,
    )


def ghosts(fits: Mapping[str, Any]) -> Drawn:
    """Draw χ²/ndof of genuine tracks and ghosts, and the ROC curves."""
    chi2 = []
    for number, kind in enumerate(("genuine", "ghost")):
        histogram = fits["parkf"]["histograms"]["chi2"][kind]
        chi2.append(
            Series(
                kind, histogram["edges"], histogram["content"], shape="steps", colour=number + 5, filled=True
            )
        )
    curves = [
        Series(FIT_NAMES[name], *_roc(fit), shape="line", colour=number)
        for number, (name, fit) in enumerate(fits.items())
    ]
    pieces = Series(
        "ParKF, pieces apart", *_roc(fits["parkf"]["separation"]), shape="line", colour=0, dashed=True
    )
    return Drawn(
        "ghosts",
        "χ² of genuine tracks and ghosts, and what cuts on it keep of both",
        [
            Panel("χ²/ndof (ParKF)", "share of candidates a bin", chi2, y_limits=(0.0, None)),
            Panel(
                "genuine efficiency",
                "ghost efficiency",
                [*curves, pieces, Series("paper: 91 %, 29 %", [0.91], [0.29], colour=6)],
                x_limits=(0.6, 1.0),
                y_limits=(0.0, 1.0),
            ),
        ],
        see=(
            "Left: χ²/ndof of genuine tracks and of ghosts (less than 70 % of the hits from one particle)."
            " Right: the share of both that a cut keeps."
        ),
        good=(
            "Good: genuine tracks lie about one, ghosts far above, and curves low and to the right of the"
            " paper's point."
        ),
        otherwise=(
            "Otherwise: see in the slices which detector's χ² has grown; where that of all has, hit errors or"
            " noise are too small."
        ),
    )


def _roc(measured: Mapping[str, Any]) -> tuple[list[float], list[float]]:
    """Efficiencies of genuine tracks and of ghosts, each pair once."""
    pairs = dict.fromkeys((round(p["genuine"], 5), round(p["ghost"], 5)) for p in measured["roc"])
    return [genuine for genuine, _ in pairs], [ghost for _, ghost in pairs]


def impact(fits: Mapping[str, Any]) -> Drawn:
    """Draw resolution and pull of the impact parameters against 1/pT."""
    panels = []
    for quantity in ("x", "y", "pull_x", "pull_y"):
        pull = quantity.startswith("pull")
        scale, axis = (1.0 if pull else 1000.0), quantity[-1]
        series = [
            Series(
                FIT_NAMES[name],
                [(b["low"] + b["high"]) / 2 for b in fit["impact"]],
                [scale * b[quantity] for b in fit["impact"]],
                [scale * b[f"{quantity}_error"] for b in fit["impact"]],
                colour=number,
            )
            for number, (name, fit) in enumerate(fits.items())
        ]
        label = f"pull width of IP in {axis}" if pull else f"resolution of IP in {axis} [µm]"
        panels.append(
            Panel(
                "1/pT [1/GeV]",
                label,
                series,
                y_limits=(0.0, 1.6 if pull else None),
                band=(0.95, 1.05) if pull else None,
            )
        )
    return Drawn(
        "impact",
        "Resolution and pulls of impact parameters",
        panels,
        see="Core widths of the track's distance from its true vertex, along x and y, and of its pull.",
        good="Good: a straight rise with 1/pT from 15 µm or less, all fits alike; pulls in the band.",
        otherwise="Otherwise: look at the VELO's step V and at BEAM, and at the VELO's alignment.",
        small=True,
    )


def masses(fits: Mapping[str, Any]) -> Drawn:
    """Draw the mass peaks of every fit that has them, with the double Gaussians."""
    panels = []
    for signal, title in {"jpsi": "J/ψ → μμ", "d0": "D⁰ → Kπ"}.items():
        series = []
        for number, (name, fit) in enumerate(fits.items()):
            peak = fit["masses"][signal]
            edges = peak["histogram"]["edges"]
            label = FIT_NAMES[name]
            series.append(Series(label, edges, peak["histogram"]["content"], shape="steps", colour=number))
            places = [edges[0] + (edges[-1] - edges[0]) * i / _CURVE for i in range(_CURVE + 1)]
            scale = peak["n"] * (edges[1] - edges[0]) / sqrt(2 * pi)
            both = ((peak["share"], peak["narrow"]), (1 - peak["share"], peak["wide"]))
            shape = [
                scale * sum(s / w * exp(-0.5 * ((m - peak["mean"]) / w) ** 2) for s, w in both)
                for m in places
            ]
            series.append(Series(label, places, shape, shape="line", colour=number))
        panels.append(Panel(f"mass of {title} [MeV]", "pairs a bin", series, y_limits=(0.0, None)))
    return Drawn(
        "masses",
        "Mass peaks",
        panels,
        see=(
            "Pairs of signal tracks with double-Gaussian fits. They pass the thresholds of the trigger's "
            "lines, Hlt1DiMuonHighMass and Hlt1D2KPi."
        ),
        good="Good: as narrow as the full fit's, at least 1.8 times narrower than the VELO-only fit's.",
        otherwise=(
            "Otherwise: compare, below, the core that errors of momenta give with that of directions; momenta"
            " are measured by magnet and SciFi, directions by the VELO."
        ),
    )


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
    return Drawn(
        "magnet",
        "Misfit of the magnet table against momentum",
        panels,
        see=(
            "Independent rays with scattered slopes, inside LHCb's fiducial region: 68 % and 99 % of "
            "|table − target|."
        ),
        good="Good: a steady fall with momentum, 68 % of x from 0.1 mm at 2 GeV to below 0.003 mm at 70 GeV.",
        otherwise=(
            "Otherwise: more rays (training.rays), or a field map with a kink; see the table's closure."
        ),
        small=True,
    )


def profiles(name: str, shown: Sequence[Profile]) -> Drawn:
    """Draw mean and RMS of δ_par/σ_MS of the four components against each variable."""
    units = {"p": "p [GeV]", "x": "x [mm]", "y": "y [mm]", "tx": "tx", "ty": "ty"}
    panels = []
    for profile in shown:
        series = []
        for number, (component, mean) in enumerate(profile.mean.items()):
            label = COMPONENTS[component]
            series.append(Series(label, profile.edges, mean, shape="steps", colour=number))
            rms = profile.rms[component]
            series.append(
                Series(f"{label}, RMS", profile.edges, rms, shape="steps", colour=number, dashed=True)
            )
        p = profile.variable == "p"
        panels.append(Panel(units[profile.variable], "δ/σ" if p else "", series, x_log=p, levels=(0.0,)))
    return Drawn(
        name,
        "Misfit over the scattering, in slices",
        panels,
        see=(
            "δ_par over the scattering against momentum and the state at the origin, in slices of equal"
            " numbers of rows: mean (full line) and RMS (dashed)."
        ),
        good="Good: all within 0.25.",
        otherwise="Otherwise: a slope or a kink shows that the form lacks a term; try a form with it.",
        small=True,
    )


def trend(names: Sequence[str], forms: Sequence[str], figures: Mapping[str, Sequence[float | None]]) -> Drawn:
    """Draw how figures went from one set to the next, sets of the same forms joined."""
    # Versions are <year>-<detector>-r<number>: the last part distinguishes them.
    panels = [
        Panel(
            "",
            what,
            [
                Series(
                    form,
                    [number for number, own in enumerate(forms) if own == form],
                    [value for value, own in zip(values, forms, strict=True) if own == form],
                    shape="joined",
                    colour=colour,
                )
                for colour, form in enumerate(sorted(set(forms), reverse=True))
            ],
            names=[re.sub(r"^.*-(r\d+)$", r"\1", name) for name in names],
        )
        for what, values in figures.items()
    ]
    return Drawn(
        "trend",
        "What gates measured, from set to set",
        panels,
        see=(
            "What each set's gates measured when it was published, oldest first, and a run's today; sets of"
            " the same forms are joined."
        ),
        good="Good: steady, or falling.",
        otherwise="Otherwise: where there is a jump between two sets, compare them with parkf compare A B.",
        small=True,
    )
