"""The page of a comparison: what differed, then figures with differences in errors and as ratios."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from markupsafe import Markup

from parkf.params.registry import Registry
from parkf.proof.comparing import Comparison, Subject, load_subject
from parkf.proof.comparing.figures import MOVED, Row, compare_figures
from parkf.proof.gates import Thresholds
from parkf.report import figures
from parkf.report.drawing import Drawn
from parkf.report.site import write_page
from parkf.report.tables import Cells

_TITLES = {
    "resolution": "Resolution",
    "bias": "Bias",
    "pulls": "Pulls",
    "ghosts": "Ghosts",
    "accuracy": "Accuracy against Runge–Kutta",
    "cost": "Cost",
    "gates": "Gates",
}
# Sets beyond which figures show a trend, and not differences.
_MANY = 2


def write_comparison(comparison: Comparison, path: Path) -> None:
    """Write the page by itself."""
    write_page(path, "compare.html", folder=f"{path.stem}-figures", **comparison_page(comparison))


def published_trend(own: Subject, thresholds: Thresholds, registry: Registry) -> Drawn | None:
    """Draw how figures went over all published sets of a run's detector; None where there is none."""
    published = [
        load_subject(version, thresholds, registry)
        for version in registry.versions()
        if registry.withdrawal(version) is None
    ]
    alike = [one for one in published if one.manifest.detector == own.manifest.detector]
    return _trend([*alike, own]) if alike else None


def comparison_page(comparison: Comparison | None, trend: Drawn | None = None) -> dict[str, Any]:
    """Return the content of ``compare.html``; without a set to compare with, a text that names this.

    Parameters
    ----------
    comparison : Comparison or None
    trend : Drawn, optional
        In place of that of the comparison's own subjects.
    """
    if comparison is None:
        return {"comparison": None}
    fits = {
        subject.name: subject.validation["fits"]["parkf"]
        for subject in comparison.subjects
        if subject.validation is not None
    }
    names = {name: name for name in fits}
    if trend is None and len(comparison.subjects) > _MANY:
        trend = _trend(comparison.subjects)
    same_tracks = len(fits) == 1 + sum(subject.borrowed is not None for subject in comparison.subjects)
    return {
        "comparison": comparison,
        "others": [
            (other.name, comparison.same(number), comparison.inputs[number - 1], comparison.sentence(number))
            for number, other in enumerate(comparison.subjects)
            if number
        ],
        "moved": MOVED,
        "drawn": figures.verdict(fits, names, same_tracks=same_tracks) if fits else None,
        "trend": trend,
        "tables": {
            _TITLES[group]: (group, _table(comparison, list(rows)))
            for group, rows in groupby(comparison.rows, key=lambda row: row.group)
        },
    }


def _table(comparison: Comparison, rows: list[Row]) -> Cells:
    first, *others = comparison.subjects
    head = ["figure", first.name]
    for other in others:
        head += [other.name, "Δ/σ", "ratio"]
    cells = []
    for row in rows:
        line = [row.what, row.figure(0)]
        for number in comparison.others:
            in_errors, ratio = row.texts(number)
            marked = Markup('<span class="{}">{}</span>').format(
                "bad" if row.moved(number) else "", in_errors
            )
            line += [row.figure(number), marked if in_errors else "–", ratio or "–"]
        cells.append(line)
    return Cells(head, cells, ("figure",))


def _trend(subjects: Sequence[Subject]) -> Drawn:
    """Draw what gates measured, where the last has it and most of the others do."""
    rows = [
        row
        for row in compare_figures(subjects)
        if row.group == "gates"
        and row.measured[-1] is not None
        and 2 * sum(one is not None for one in row.measured) > len(subjects)
    ]
    return figures.trend(
        [one.name for one in subjects],
        [one.manifest.forms for one in subjects],
        {row.what: [None if one is None else one.value for one in row.measured] for row in rows},
    )
