"""The page that compares the runs of a family."""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from markupsafe import Markup

from parkf.io.files import read_json, write_json
from parkf.params import ParameterSet, load
from parkf.params.validity import shown_validity
from parkf.proof.comparing.replacement import difference, name, place, sure, surest
from parkf.proof.comparing.tracks import exchange_sets
from parkf.proof.gates import Thresholds, hold
from parkf.proof.gates.room import unmeasured
from parkf.report import figures
from parkf.report.site import write_page
from parkf.report.tables import Cells, table_of

# Range of momentum of the table, GeV; the figure has all momenta.
LOWEST, HIGHEST = 5.0, 50.0


def write_family(runs: Sequence[Path], index: Path, thresholds: Thresholds) -> None:
    """Write the page of finished runs, and beside it ``family.json`` with the same numbers.

    Each set is also measured on the tracks of the other runs, beside the set of those runs.
    """
    family = index.parent.name
    names = [run.name.removeprefix(f"{family}.") for run in runs]
    sets = [load(run / "set") for run in runs]
    fits = [read_json(run / "validation.json")["fits"]["parkf"] for run in runs]
    own = differing([one.manifest.configuration or {} for one in sets])
    rows = [
        {"member": name, "run": run.name, "own": keys, **_figures(run, one, fit, thresholds)}
        for name, run, one, fit, keys in zip(names, runs, sets, fits, own, strict=True)
    ]
    exchanged = exchange_sets(runs)
    write_json(index.with_name("family.json"), {"members": rows, "exchanged": exchanged})
    reports = [Path(os.path.relpath(run / "report/index.html", index.parent)).as_posix() for run in runs]
    write_page(
        index,
        "family.html",
        family=family,
        members=_table([{**row, "report": one} for row, one in zip(rows, reports, strict=True)]),
        open_gates=[
            (row["member"], row["gates"]["missed"], row["gates"]["not_measured"])
            for row in rows
            if row["gates"]["met"] < row["gates"]["of"]
        ],
        matrix=_matrix(names, exchanged) if exchanged else None,
        drawn=figures.momentum(dict(zip(names, fits, strict=True)), {name: name for name in names}),
    )


def differing(configurations: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
    """Return, for each configuration, its values of the keys that differ between configurations."""
    keys = dict.fromkeys(key for one in configurations for key in one)
    apart = [key for key in keys if len({one.get(key) for one in configurations}) > 1]
    return [{key: json.loads(one[key]) if key in one else None for key in apart} for one in configurations]


def _figures(
    run: Path, parameters: ParameterSet, fit: Mapping[str, Any], thresholds: Thresholds
) -> dict[str, Any]:
    gates = hold(run / "set", thresholds)
    bins = [b for b in fit["momentum"] if b["p_min"] >= LOWEST and b["p_max"] <= HIGHEST]
    return {
        "validity": shown_validity(parameters.manifest),
        "gates": {
            "met": sum(gate.met for gate in gates),
            "of": len(gates),
            "missed": [gate.what for gate in gates if not gate.met and not unmeasured(gate)],
            "not_measured": [gate.what for gate in gates if unmeasured(gate)],
        },
        "core": [{key: b[key] for key in ("p_min", "p_max", "core", "core_error")} for b in bins],
        "pull_widths": {component: pull["width"] for component, pull in fit["pulls"].items()},
        "ghost": fit["working_point"]["ghost"],
    }


def _table(rows: Sequence[Mapping[str, Any]]) -> Cells:
    def extent(values: Iterable[float]) -> str:
        ordered = sorted(values)
        return f"{ordered[0]:.2f}–{ordered[-1]:.2f}"

    def met(row: Mapping[str, Any]) -> str:
        gates = row["gates"]
        light = "bad" if gates["missed"] else "unknown" if gates["not_measured"] else "good"
        return Markup('<span class="{}">{} of {}</span>').format(light, gates["met"], gates["of"])

    # Settings come last: there may be many, and the figures are what one looks for.
    settings = list(rows[0]["own"])
    columns: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "member": lambda row: Markup('<a href="{}">{}</a>').format(row["report"], row["member"]),
        "gates met": met,
        f"core of δp/p, {LOWEST:g}–{HIGHEST:g} GeV [%]": lambda row: extent(
            100 * b["core"] for b in row["core"]
        ),
        "pull widths of x, y, tx, ty": lambda row: extent(
            row["pull_widths"][c] for c in ("x", "y", "tx", "ty")
        ),
        "of q/p": lambda row: f"{row['pull_widths']['qop']:.2f}",
        "ghosts kept [%]": lambda row: f"{100 * row['ghost']:.1f}",
        "holds for": lambda row: row["validity"],
        **{key: partial(lambda key, row: str(row["own"][key]), key) for key in settings},
    }
    return table_of(rows, columns, text=("holds for", *settings))


def _matrix(names: Sequence[str], exchanged: Sequence[Sequence[Mapping[str, Any] | None]]) -> Cells:
    """Tabulate what each set loses on the tracks of the other runs: the figure where it loses most."""

    def cell(found: Mapping[str, Any] | None) -> str:
        if found is None:
            return "its own"
        worse = [one for one in found["figures"] if one["worse"] > 0 and sure(one)]
        if not worse:
            return Markup('<span class="good">no loss seen</span>')
        most = surest(worse)
        where = f", {at}" if (at := place(most)) else ""
        text = f"{name(most)} worse by {difference(most)}{where}"
        return Markup('<span class="bad">{}</span>').format(text)

    rows = [[name, *map(cell, of_set)] for name, of_set in zip(names, exchanged, strict=True)]
    heads = [f"tracks of {name}" for name in names]
    return Cells(["set of", *heads], rows, heads)
