"""The page of a run beside a published set: differences of inputs, then of figures, in errors."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from markupsafe import Markup

from parkf.proof.comparing import Comparison
from parkf.proof.comparing.figures import MOVED, Row
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
    names = [one.name for one in comparison.subjects]
    return {
        "comparison": comparison,
        "names": names,
        "moved": MOVED,
        "tables": {
            _TITLES[group]: (group, _table(names, list(rows)))
            for group, rows in groupby(comparison.rows, key=lambda row: row.group)
        },
    }


def _table(names: Sequence[str], rows: Sequence[Row]) -> Cells:
    cells = []
    for row in rows:
        style = "bad" if abs(row.in_errors[1] or 0.0) > MOVED else ""
        difference = Markup('<span class="{}">{}</span>').format(style, row.difference(1))
        cells.append([row.what, *(_exact(row, number) for number in (0, 1)), difference])
    return Cells(["figure", *names, "Δ/σ"], cells, ("figure",))


def _exact(row: Row, subject: int) -> str:
    one = row.measured[subject]
    return row.figure(subject) if one is None else exact(row.figure(subject), one.value, one.error)
