"""The page of ``parkf monitor``, from its JSON alone."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from parkf.report.drawing import Drawn, Panel, Series
from parkf.report.site import write_page
from parkf.report.tables import Cells


def write_monitor(content: Mapping[str, Any], name: str, path: Path) -> None:
    """Write the page of a set `name`; `content` is the JSON of ``parkf monitor``."""
    write_page(
        path,
        "monitor.html",
        folder=f"{path.stem}-figures",
        name=name,
        content=content,
        found=_found(content["found"]),
        widths=_widths(content),
        chi2=_chi2(content),
        masses=_masses(content),
    )


def _found(found: Sequence[Mapping[str, Any]]) -> Cells:
    rows = []
    for one in found:
        factor, unit = {"mm": (1e3, " µm"), "rad": (1e3, " mrad")}.get(one["unit"], (100, " %"))
        size = f"{factor * one['size']:+.2f} ± {factor * one['error']:.2f}{unit}"
        rows.append([one["what"], size, f"{one['significance']:.1f}"])
    return Cells(["change", "size", "in errors"], rows, ("change",))


def _moments(counts: Any, edges: Sequence[float]) -> tuple[float, float, float, float]:
    """Return mean and width of a histogram, with their errors; NaN if it has fewer than two entries."""
    counts = np.asarray(counts).sum(axis=0)
    total = counts.sum()
    if total < 2:
        return (np.nan,) * 4
    middle = 0.5 * (np.asarray(edges)[1:] + np.asarray(edges)[:-1])
    mean = float((counts * middle).sum() / total)
    width = float(np.sqrt((counts * (middle - mean) ** 2).sum() / total))
    return mean, width / total**0.5, width, width / (2 * total) ** 0.5


def _both(content: Mapping[str, Any]) -> list[tuple[int, str, Mapping[str, Any]]]:
    """Colour, title and histograms of the reference, and of the candidates."""
    titles = {"reference_histograms": "reference", "histograms": "these candidates"}
    return [(colour, title, content[key]) for colour, (key, title) in enumerate(titles.items())]


def _widths(content: Mapping[str, Any]) -> Drawn:
    """Means and widths of the pulls of each layer and module, beside the reference's."""
    panels = []
    for label, at, level in (("mean of the pull", 0, 0.0), ("width of the pull", 2, 1.0)):
        series = []
        for colour, title, of in _both(content):
            found = [_moments(of["pulls"][name], of["pull_edges"]) for name in content["histograms"]["pulls"]]
            values, errors = [one[at] for one in found], [one[at + 1] for one in found]
            numbers = [float(i) for i in range(len(found))]
            series.append(Series(title, numbers, values, error=errors, colour=colour))
        panels.append(Panel("UT, SciFi, then x and y of VELO modules", label, series, levels=(level,)))
    return Drawn(
        "pulls",
        "Pulls of hits from the other hits of their track",
        panels,
        see="Mean and width of (hit − prediction by the other hits)/error of each UT and SciFi layer, then of"
        " x and y of each VELO module, in ascending z.",
        good="The candidates agree with the reference within errors.",
        otherwise="A mean that differs alone is a displaced layer; other widths are hit errors or noise.",
    )


def _chi2(content: Mapping[str, Any]) -> Drawn:
    panels = []
    for detector in content["histograms"]["chi2"]:
        series = []
        for colour, title, of in _both(content):
            counts = np.asarray(of["chi2"][detector]).sum(axis=0)
            share = counts / max(counts.sum(), 1)
            series.append(Series(title, of["chi2_edges"], share.tolist(), shape="steps", colour=colour))
        panels.append(Panel(f"χ²/ndof of the {detector}", "share of the tracks", series))
    return Drawn(
        "chi2",
        "χ² by detector",
        panels,
        see="Distribution of χ²/ndof of the hits of each detector; the last bin has all larger ones.",
        good="Both distributions agree.",
        otherwise="Larger χ²: hits lie off, or their errors or the noise are too small.",
    )


def _masses(content: Mapping[str, Any]) -> Cells:
    rows = [
        [decay, f"{1e3 * one['scale']:+.2f} ± {1e3 * one['error']:.2f} ‰"]
        for decay, one in content["field_scale"].items()
    ]
    return Cells(["decay", "field above the set's"], rows, ("decay",))
