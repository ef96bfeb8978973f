"""The page of a comparison: differences of inputs, then of figures, in errors."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from markupsafe import Markup

from parkf.proof.comparing import Comparison, Subject
from parkf.proof.comparing.figures import MOVED, Row
from parkf.report import figures
from parkf.report.tables import Cells, exact

_TITLES = {
    "resolution": "Resolution",
    "bias": "Bias",
    "pulls": "Pulls",
    "ghosts": "Ghosts",
    "accuracy": "Accuracy against Runge–Kutta",
}


def comparison_page(comparison: Comparison | None) -> dict[str, Any]:
    """Return the content of ``compare.html``; without a comparison, the page says that there is none."""
    if comparison is None:
        return {"comparison": None}
    subjects = comparison.subjects
    fits = fits_of(subjects)
    same_tracks = len(fits) == 1 + sum(subject.borrowed is not None for subject in subjects)
    return {
        "comparison": comparison,
        "others": [
            (subjects[n].name, comparison.same(n), comparison.inputs[n - 1], comparison.sentence(n))
            for n in comparison.others
        ],
        "moved": MOVED,
        "drawn": figures.verdict(fits, same_tracks=same_tracks) if fits else None,
        "tables": {
            _TITLES[group]: (group, _table(comparison, list(rows)))
            for group, rows in groupby(comparison.rows, key=lambda row: row.group)
        },
    }


def fits_of(subjects: Sequence[Subject]) -> dict[str, Any]:
    """Return the validated figures of the fit with each set, by name; sets without figures are left out."""
    return {one.name: one.validation["fits"]["parkf"] for one in subjects if one.validation is not None}


def _table(comparison: Comparison, rows: Sequence[Row]) -> Cells:
    first, *others = (one.name for one in comparison.subjects)
    head = ["figure", first, *(text for name in others for text in (name, "Δ/σ"))]
    cells = []
    for row in rows:
        line = [row.what, _exact(row, 0)]
        for number in comparison.others:
            style = "bad" if row.moved(number) else ""
            line += [
                _exact(row, number),
                Markup('<span class="{}">{}</span>').format(style, row.difference(number)),
            ]
        cells.append(line)
    return Cells(head, cells, ("figure",))


def _exact(row: Row, subject: int) -> str:
    one = row.measured[subject]
    return row.figure(subject) if one is None else exact(row.figure(subject), one.value, one.error)
