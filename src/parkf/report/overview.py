"""The overview of a report: the verdict, the gates, and the main figures and tables."""

import re
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from parkf.model.steps import FORMS, STEP_NAMES
from parkf.proof.comparing import Comparison, Subject
from parkf.proof.gates.room import NEAR, count, nearest
from parkf.proof.publishing import Decision
from parkf.report import figures, tables
from parkf.report.maps import Bins, ratio_maps, table_maps
from parkf.report.tables import Cells
from parkf.training.assembly import CLOSED_TABLE
from parkf.training.result import FitResult

# Number of gates that the first screen shows in addition to the missed ones.
_NEAREST = 10


def verdict_part(own: Subject, comparison: Comparison | None, decision: Decision) -> dict[str, Any]:
    """Return the first screen of ``index.html``: decision, changes, identity of the run, decisive gates."""
    ordered, client = nearest(decision.gates), decision.gates[len(own.gates) :]
    missed = [gate for gate in ordered if not gate.met]
    close = [gate for gate in ordered if gate.met][:_NEAREST]
    rest = [gate for gate in decision.gates if gate.met and gate not in close]
    subjects = comparison.subjects[::-1] if comparison else [own]
    fits = {one.name: one.validation["fits"]["parkf"] for one in subjects if one.validation is not None}
    return {
        "near": NEAR,
        "missed": missed,
        "gate_tables": {
            "missed": tables.gates(missed),
            "close": tables.gates(close),
            "rest": tables.gates(rest),
        },
        "count": len(decision.gates),
        "told": {"run": count(own.gates), "client": count(client) if client else ""},
        "decision": decision,
        "command": None if own.run is None else decision.command(own.run / "set"),
        "answer": (own.beside or {}).get("answer"),
        "paired": tables.tabulate_pairs((own.beside or {}).get("paired")),
        "comparison": comparison,
        "verdict": figures.verdict(fits),
        "identity": own.identity or {},
    }


def figures_part(
    own: Subject,
    validation: Mapping[str, Any],
    accuracy: Mapping[str, Any],
    fits: Mapping[str, FitResult],
) -> dict[str, Any]:
    """Return the figures, maps and tables of ``index.html``, from files of the run and fits of its steps."""
    measured, table = validation["fits"], accuracy["table"]
    return {
        "counts": validation["counts"],
        "closed": CLOSED_TABLE in own.manifest.inputs,
        "fits": measured,
        "figures": {
            "momentum": figures.momentum(measured),
            "misaligned": figures.momentum(validation["misaligned"]["fits"], name="misaligned")
            if "misaligned" in validation
            else None,
            "pulls": figures.pulls(measured),
            "pull_widths": figures.pull_widths(measured),
            "impact": figures.impact(measured),
            "masses": figures.masses(measured) if "masses" in measured["parkf"] else None,
            "ghosts": figures.ghosts(measured),
            "table": figures.table_accuracy(table["fiducial"]),
        },
        "maps": {
            "steps": ratio_maps(_ratios(accuracy["steps"])),
            "magnet": table_maps(table["maps"]) if "maps" in table else {},
        },
        "tables": {
            "pulls": tables.pulls(measured),
            "ghosts_kept": tables.ghosts_kept(measured["parkf"]),
            "masses": tables.masses(measured),
            "steps": _steps(fits),
        },
    }


def _steps(fits: Mapping[str, FitResult]) -> Cells:
    rows = [
        [
            Markup('<a href="{0}.html">{0}</a>').format(name),
            FORMS[fit.forms].steps[name].text,
            str(len(fit.sets)),
            str(sum(one.rows for one in fit.sets)),
        ]
        for name, fit in fits.items()
    ]
    return Cells(["step", "what", "sets", "rows"], rows, ("what",))


def _ratios(steps: Mapping[str, Any]) -> Bins:
    """Arrange the ratios of ``accuracy.json``: steps in the order of a track's path, and gaps by number."""

    def order(label: str) -> tuple[int, int, str]:
        step, _, rest = label.partition(".")
        return STEP_NAMES.index(step), int(re.sub(r"\D", "", rest) or 0), rest

    return {
        (label, component, row["p_min"], row["p_max"]): (row["ratio_rms"], None)
        for label in sorted(steps, key=order)
        for component, rows in steps[label].items()
        for row in rows
    }
