"""The page that lays the embedded simulation beside another one of the same detector, LHCb's."""

from collections.abc import Mapping
from math import hypot
from pathlib import Path
from typing import Any

from markupsafe import Markup

from parkf.io.files import read_json
from parkf.report import figures
from parkf.report.drawing import Drawn, Panel, Series
from parkf.report.likeness_rows import LARGER_SAMPLE_P, SEARCH, SEARCHES, SECTIONS, Row
from parkf.report.site import write_page
from parkf.report.tables import Cells

EMBEDDED, OTHER = "embedded", "LHCb"
_ALIKE = 3.0  # combined errors
_SAME = 0.02  # relative difference that is none, however significant
_PANELS = (
    ("p", "p [GeV]"),
    ("eta", "η"),
    ("velo", "VELO modules"),
    ("scifi", "SciFi layers"),
    ("velo_residual", "VELO residual [µm]"),
    ("ut_residual", "UT residual [µm]"),
    ("scifi_residual", "SciFi residual [µm]"),
)


def write_likeness(
    embedded: Path,
    other: Path,
    measured: Mapping[str, tuple[Path, Path]],
    page: Path,
    *,
    searches: Mapping[str, tuple[Path, Path]] | None = None,
) -> None:
    """Write the page.

    Parameters
    ----------
    embedded, other : Path
        Results of `parkf.proof.validation.likeness.characterise`.
    measured : mapping of str to (Path, Path)
        For each fit the results of `parkf.proof.validation.measure.measure`, embedded and other; may be
        empty.
    page : Path
        The HTML file.
    searches : mapping of str to (Path, Path), optional
        For "found" and "truth", what segments are, the results of
        `parkf.proof.validation.likeness.characterise_search`, embedded and other.

    Raises
    ------
    ParkfError
        When a file is missing or no JSON.
    """
    ours, theirs = read_json(embedded), read_json(other)
    fits = {name: (read_json(one), read_json(two)) for name, (one, two) in measured.items()}
    found = {name: (read_json(one), read_json(two)) for name, (one, two) in (searches or {}).items()}
    drawn = {
        "tracks": _draw("tracks", ours, theirs, _PANELS[:4]),
        "hits": _draw("hits", ours, theirs, _PANELS[4:]),
    }
    write_page(
        page,
        "likeness.html",
        counts={EMBEDDED: ours, OTHER: theirs},
        drawn=drawn,
        quantiles=_quantiles(ours, theirs),
        sections={title: [_line(row, ours, theirs) for row in rows] for title, rows in SECTIONS.items()}
        | {
            SEARCHES[name]: [
                _line(row, *pair) for row in SEARCH if all(row.name in p["figures"] for p in pair)
            ]
            for name, pair in found.items()
        },
        fits={figures.FIT_NAMES[name]: _fit(*pair) for name, pair in fits.items()},
    )


def _line(row: Row, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
    one, two = ours["figures"][row.name], theirs["figures"][row.name]
    difference, error = two["value"] - one["value"], hypot(one["error"], two["error"])
    return {
        "label": row.label,
        "values": [
            _with_error(f["value"], f["error"], row.factor, row.decimals) + row.unit for f in (one, two)
        ],
        "significance": f"{difference / error:+.1f}" if error else "–",
        "alike": abs(difference) < max(_ALIKE * error, _SAME * abs(two["value"])),
        "reason": Markup(row.reason),
    }


def _with_error(value: float, error: float, factor: float, decimals: int) -> str:
    return f"{factor * value:.{decimals}f} ± {factor * error:.{decimals}f}"


def _quantiles(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Cells:
    rows = []
    for name, label, decimals in (("p", "p [GeV]", 1), ("eta", "η", 2)):
        for which, sample in ((EMBEDDED, ours), (OTHER, theirs)):
            rows.append(
                [f"{label}, {which}", *(f"{value:.{decimals}f}" for value in sample["quantiles"][name])]
            )
    rows.insert(2, [f"p [GeV], {OTHER}, a larger sample", *map(str, LARGER_SAMPLE_P)])
    return Cells(["", "5 %", "25 %", "50 %", "75 %", "95 %"], rows)


def _fit(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Cells:
    """Resolution, bias and pull of the momentum by its bins, then χ² by detectors."""
    rows = []
    bins = {(entry["p_min"], entry["p_max"]): entry for entry in theirs["momentum"]}
    for one in ours["momentum"]:
        if (two := bins.get((one["p_min"], one["p_max"]))) is None:
            continue
        for name, label, factor in (
            ("half_width", "half width of δp/p, 68 % [%]", 100.0),
            ("bias", "bias of p [%]", 100.0),
            ("pull_width", "pull of q/p, width", 1.0),
        ):
            cells = [_with_error(m[name], m[f"{name}_error"], factor, 3) for m in (one, two)]
            rows.append([f"{label}, {one['p_min']:g}–{one['p_max']:g} GeV", *cells])
    for detector, label in (("velo", "VELO"), ("ut", "UT"), ("scifi", "SciFi"), ("all", "all")):
        pair = [m["chi2"][detector] for m in (ours, theirs)]
        medians = [_with_error(m["median"], m["median_error"], 1.0, 3) for m in pair]
        rows.append([f"χ²/ndof {label}, median", *medians])
        rows.append([f"χ²/ndof {label} above 3 [%]", *(f"{100 * m['large']:.1f}" for m in pair)])
    return Cells(["", EMBEDDED, OTHER], rows)


def _draw(
    name: str, ours: Mapping[str, Any], theirs: Mapping[str, Any], panels: tuple[tuple[str, str], ...]
) -> Drawn:
    """Shares of all tracks (hits) a bin: a line for the embedded simulation, points for the other."""
    drawn = []
    for variable, label in panels:
        one, two = ours["histograms"][variable], theirs["histograms"][variable]
        centres = [(low + high) / 2 for low, high in zip(two["edges"], two["edges"][1:], strict=False)]
        series = [
            Series(EMBEDDED, one["edges"], one["content"], shape="steps"),
            Series(OTHER, centres, two["content"], two["error"], colour=1),
        ]
        drawn.append(Panel(label, "share a bin", series, x_log=variable == "p", y_limits=(0.0, None)))
    return Drawn(name, f"Distributions of {name}, {EMBEDDED} and {OTHER}", drawn, small=True)
