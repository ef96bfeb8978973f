"""The page that compares the embedded simulation with LHCb's simulation of the same detector."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import hypot
from pathlib import Path
from typing import Any

from markupsafe import Markup

from parkf.io.files import read_json
from parkf.report.drawing import Drawn, Panel, Series
from parkf.report.figures import FIT_NAMES
from parkf.report.site import write_page
from parkf.report.tables import Cells, exact, interval, with_error
from parkf.report.words import texts

EMBEDDED, OTHER = "embedded", "LHCb"
_ALIKE = 3.0  # a difference of fewer combined errors does not count
_SAME = 0.02  # a smaller relative difference does not count, however significant it is
_TRACKS = {"p": "p [GeV]", "eta": "η", "velo": "VELO modules", "scifi": "SciFi layers"}
_BY_MOMENTUM = (
    ("width68", "half width of δp/p, 68 % [%]", 100.0),
    ("bias", "bias of p [%]", 100.0),
    ("width", "pull of q/p, width", 1.0),
)


Row = Mapping[str, Any]  # name in the measurement, label, decimals, unit, and reason in HTML
SECTIONS: Mapping[str, Sequence[Row]] = texts("likeness")["sections"]
SEARCHES: Mapping[str, str] = texts("likeness")["searches"]
SEARCH: Sequence[Row] = texts("likeness")["search"]


def write_likeness(
    embedded: Path,
    other: Path,
    measured: Mapping[str, tuple[Path, Path]],
    page: Path,
    *,
    searches: Mapping[str, tuple[Path, Path]] | None = None,
) -> None:
    """Write the page from JSON files: two results of `parkf.proof.validation.likeness.characterise`.

    `measured` has two results of `parkf.proof.validation.likeness.measure_tracks` for each fit: of the
    embedded and of the other simulation. `searches` has two results of
    `parkf.proof.validation.kinds.measure_search`, for segments that are "found", and by "truth".
    """
    pair = (read_json(embedded), read_json(other))
    fits = {name: [*map(read_json, files)] for name, files in measured.items()}
    sections = {title: _compared(rows, *pair) for title, rows in SECTIONS.items()}
    for name, files in (searches or {}).items():
        two = [{"figures": search_figures(read_json(path))} for path in files]
        rows = [row for row in SEARCH if all(row["name"] in one["figures"] for one in two)]
        sections[SEARCHES[name]] = _compared(rows, *two)
    write_page(
        page,
        "likeness.html",
        counts=dict(zip((EMBEDDED, OTHER), pair, strict=True)),
        drawn=_draw(*pair),
        sections=sections,
        fits={FIT_NAMES[name]: _fit(*two) for name, two in fits.items()},
    )


def search_figures(measured: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Return value and error of the figures of :func:`parkf.proof.validation.kinds.measure_search`, by name.

    These are ``ghosts``, ``efficiency_p_<low>_<high>`` (GeV) and, of enough candidates, ``cut`` and ``kept``.
    """
    known = [("ghosts", "ghosts", measured)]
    for one in measured["efficiency"]:
        known.append((f"efficiency_p_{one['p_min']:g}_{one['p_max']:g}", "efficiency", one))
    if point := measured.get("chi2", {}).get("working_point"):
        known += [("cut", "cut", point | {"cut": -point["cut"]}), ("kept", "ghost", point)]
    return {name: {"value": one[key], "error": one[f"{key}_error"]} for name, key, one in known}


def _compared(rows: Sequence[Row], ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Cells:
    cells = []
    for row in rows:
        one, two = ours["figures"][row["name"]], theirs["figures"][row["name"]]
        difference, error = two["value"] - one["value"], hypot(one["error"], two["error"])
        unit, spec = row.get("unit", ""), f".{row['decimals']}f"
        factor = 100.0 if unit == " %" else 1.0
        alike = abs(difference) < max(_ALIKE * error, _SAME * abs(two["value"]))
        word = Markup('<span class="{}">{}</span>').format(
            *(("good", "alike") if alike else ("bad", "differs"))
        )
        cells.append(
            [
                row["label"],
                *(
                    exact(f"{value:{spec}} ± {sigma:{spec}}{unit}", value, sigma)
                    for value, sigma in ((factor * f["value"], factor * f["error"]) for f in (one, two))
                ),
                f"{difference / error:+.1f}" if error else "–",
                word,
                Markup(row["reason"]),
            ]
        )
    return Cells(["figure", EMBEDDED, OTHER, "errors apart", "", "reason"], cells, text=("figure", "reason"))


def _fit(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Cells:
    """Tabulate resolution, bias and pull in bins of momentum, then χ² by detector."""
    bins = {entry["p_min"]: entry["pulls"]["qop"] | entry for entry in theirs["momentum"]}
    rows = [
        [f"{label}, {interval(one)} GeV", *(with_error(m, name, ".3f", factor) for m in (one, two))]
        for one in (entry["pulls"]["qop"] | entry for entry in ours["momentum"])
        if (two := bins.get(one["p_min"]))
        for name, label, factor in _BY_MOMENTUM
    ]
    for detector, label in (("velo", "VELO"), ("ut", "UT"), ("scifi", "SciFi"), ("all", "all")):
        pair = [m["chi2"][detector] for m in (ours, theirs)]
        rows.append([f"χ²/ndof {label}, median", *(with_error(m, "median", ".3f") for m in pair)])
        rows.append([f"χ²/ndof {label} above 3 [%]", *(f"{100 * m['large']:.1f}" for m in pair)])
    return Cells(["", EMBEDDED, OTHER], rows)


def _draw(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Drawn:
    """Draw fractions of tracks in bins: a line is the embedded simulation, points are LHCb's."""
    panels = []
    for variable, label in _TRACKS.items():
        one, two = ours["histograms"][variable], theirs["histograms"][variable]
        centres = [(low + high) / 2 for low, high in pairwise(two["edges"])]
        series = [
            Series(EMBEDDED, one["edges"], one["content"], shape="steps"),
            Series(OTHER, centres, two["content"], two["error"], colour=1),
        ]
        panels.append(Panel(label, "share a bin", series, x_log=variable == "p", y_limits=(0.0, None)))
    return Drawn("tracks", f"Distributions of tracks, {EMBEDDED} and {OTHER}", panels)
