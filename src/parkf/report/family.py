"""The page that compares the runs of a family."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from parkf.io.files import read_json, write_json
from parkf.params import ParameterSet, load
from parkf.params.comparison import compare
from parkf.params.validity import Interval
from parkf.proof.gates import Thresholds, hold
from parkf.proof.gates.room import unmeasured
from parkf.report import figures
from parkf.report.site import write_page
from parkf.report.tables import Cells

# Range of momentum of the table, GeV; the figure has all momenta.
LOWEST, HIGHEST = 5.0, 50.0
# A number has moved if it differs from that of the first run by more errors than this.
MOVED = 3.0


def write_family(runs: Sequence[Path], index: Path, thresholds: Thresholds) -> None:
    """Write the page of finished runs, and beside it ``family.json`` with the same numbers.

    The numbers of each run's set are compared with those of the first run's set.
    """
    family = index.parent.name
    names = [run.name.removeprefix(f"{family}.") for run in runs]
    sets = [load(run / "set") for run in runs]
    fits = [read_json(run / "validation.json")["fits"]["parkf"] for run in runs]
    own = differing([one.manifest.configuration or {} for one in sets])
    rows = [
        {"member": name, "run": run.name, "own": keys, **_figures(run, one, sets[0], fit, thresholds)}
        for name, run, one, fit, keys in zip(names, runs, sets, fits, own, strict=True)
    ]
    write_json(index.with_name("family.json"), {"members": rows})
    reports = [Path(os.path.relpath(run / "report/index.html", index.parent)).as_posix() for run in runs]
    write_page(
        index,
        "family.html",
        family=family,
        members=_table(rows, reports),
        open_gates=[
            (row["member"], row["gates"]["missed"], row["gates"]["not_measured"])
            for row in rows
            if row["gates"]["met"] < row["gates"]["of"]
        ],
        drawn=figures.momentum(dict(zip(names, fits, strict=True)), {name: name for name in names}),
    )


def differing(configurations: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
    """Return, for each configuration, its values of the keys that differ between configurations."""
    keys = dict.fromkeys(key for one in configurations for key in one)
    apart = [key for key in keys if len({one.get(key) for one in configurations}) > 1]
    return [{key: json.loads(one[key]) if key in one else None for key in apart} for one in configurations]


def _figures(
    run: Path, parameters: ParameterSet, first: ParameterSet, fit: Mapping[str, Any], thresholds: Thresholds
) -> dict[str, Any]:
    gates = hold(run / "set", thresholds)
    bins = [b for b in fit["momentum"] if b["p_min"] >= LOWEST and b["p_max"] <= HIGHEST]
    pulls = [abs(d.pull) for d in compare(first, parameters).differences if d.pull is not None]
    return {
        "validity": str(Interval.of(parameters.manifest.validity)),
        "gates": {
            "met": sum(gate.met for gate in gates),
            "of": len(gates),
            "missed": [gate.what for gate in gates if not gate.met and not unmeasured(gate)],
            "not_measured": [gate.what for gate in gates if unmeasured(gate)],
        },
        "core": [{key: b[key] for key in ("p_min", "p_max", "core", "core_error")} for b in bins],
        "pull_widths": {component: pull["width"] for component, pull in fit["pulls"].items()},
        "ghost": fit["working_point"]["ghost"],
        "moved": {"numbers": sum(pull > MOVED for pull in pulls), "most": max(pulls, default=0.0)},
    }


def _table(rows: Sequence[Mapping[str, Any]], reports: Sequence[str]) -> Cells:
    keys = list(rows[0]["own"])
    # Settings come last: there may be many, and the figures are what one looks for.
    head = [
        "member",
        "gates met",
        f"core of δp/p, {LOWEST:g}–{HIGHEST:g} GeV [%]",
        "pull widths of x, y, tx, ty",
    ]
    head += ["of q/p", "ghosts kept [%]", "numbers moved", "by at most", "holds for", *keys]
    cells = []
    for row, report in zip(rows, reports, strict=True):
        widths, gates = row["pull_widths"], row["gates"]
        near = [widths[component] for component in ("x", "y", "tx", "ty")]
        core = [100 * b["core"] for b in row["core"]]
        light = "bad" if gates["missed"] else "unknown" if gates["not_measured"] else "good"
        cells.append(
            [
                Markup('<a href="{}">{}</a>').format(report, row["member"]),
                Markup('<span class="{}">{} of {}</span>').format(light, gates["met"], gates["of"]),
                f"{min(core):.2f}–{max(core):.2f}",
                f"{min(near):.2f}–{max(near):.2f}",
                f"{widths['qop']:.2f}",
                f"{100 * row['ghost']:.1f}",
                str(row["moved"]["numbers"]),
                f"{row['moved']['most']:.1f} σ",
                row["validity"],
                *(str(row["own"][key]) for key in keys),
            ]
        )
    return Cells(head, cells, text=("holds for", *keys))
