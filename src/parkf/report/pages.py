"""Writes the pages: the overview, one page a step, and the list of all constants."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from parkf.files import read_json, replacing
from parkf.gates import Thresholds, hold
from parkf.parameters import Manifest, load
from parkf.parameters.assembly import CLOSED_TABLE
from parkf.parameters.manifest import Gate
from parkf.parameters.registry import readable_registry
from parkf.report import directions, figures, slices, tables
from parkf.report.closure_page import closure_page
from parkf.report.figures import FIT_NAMES
from parkf.report.lights import light
from parkf.report.step_map import Bins, step_map
from parkf.report.step_page import moves, newest_alike, step_page
from parkf.simulation.forked import parallel_map
from parkf.steps import FORMS, STEP_NAMES
from parkf.training.result import FitResult

_TEMPLATES = Environment(
    loader=PackageLoader("parkf.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
)


def write_report(results: Path, index: Path, thresholds: Thresholds, *, threads: int = 1) -> None:
    """Write the report of a run.

    Parameters
    ----------
    results : Path
        Folder of a finished run.
    index : Path
        The overview; the other pages lie beside it.
    thresholds : Thresholds
        What the figures are held against.
    threads : int
        Pages drawn side by side; their bytes do not depend on it.

    Raises
    ------
    ParkfError
        When a file of the run is missing or broken.
    """
    validation = read_json(results / "validation.json")
    for measured in (validation, validation.get("misaligned", {"fits": {}})):
        measured["fits"] = {name: measured["fits"][name] for name in FIT_NAMES if name in measured["fits"]}
    accuracy = read_json(results / "accuracy.json")
    machine = {name: read_json(results / f"{name}.json") for name in ("stages", "throughput")}
    parameters, registry = load(results / "set"), readable_registry()
    manifest, against = parameters.manifest, newest_alike(registry, parameters)
    pulls = moves(registry.load(against), parameters) if against else {}
    gates = hold(results / "set", thresholds)
    fits = {name: FitResult.load(results / "fits" / f"{name}.json") for name in STEP_NAMES}
    own = validation["fits"]["parkf"]

    def step(name: str) -> None:
        write_page(index.with_name(f"{name}.html"), "step.html", **step_page(fits[name], against, pulls))

    def constants() -> None:
        numbers = tables.constants(results / "set", results / "fits")
        write_page(index.with_name("parameters.html"), "parameters.html", numbers=numbers)

    def sliced() -> None:
        content = {"slices": _slices(own), "fates": slices.fates(own["fates"])}
        write_page(index.with_name("slices.html"), "slices.html", **content)

    def directed() -> None:
        content = {"fits": _directions(validation["fits"]), "errors": directions.ERRORS}
        write_page(index.with_name("directions.html"), "directions.html", **content)

    def closed() -> None:
        content = closure_page(read_json(results / "closure" / "closure.json"))
        write_page(index.with_name("closure.html"), "closure.html", **content)

    # The longest first, so that all end together.
    longest = sorted(fits, key=lambda name: len(fits[name].sets), reverse=True)
    pages: list[Callable[[], None]] = [
        *(partial(step, name) for name in longest),
        sliced,
        directed,
        constants,
        *([closed] if CLOSED_TABLE in manifest.inputs else []),
    ]
    for _ in parallel_map(lambda page: page(), pages, threads):
        pass
    # The overview comes last: when it is there, all it links to is.
    write_page(
        index,
        "index.html",
        **_overview(results.name, validation, accuracy, machine, manifest, fits, gates),
    )


def write_page(path: Path, template: str, **content: Any) -> None:
    """Write a page from one of the templates."""
    with replacing(path) as temporary:
        temporary.write_text(_TEMPLATES.get_template(template).render(**content))


def _overview(
    run: str,
    validation: Mapping[str, Any],
    accuracy: Mapping[str, Any],
    machine: Mapping[str, Any],
    manifest: Manifest,
    fits: Mapping[str, FitResult],
    gates: list[Gate],
) -> dict[str, Any]:
    measured, fiducial = validation["fits"], accuracy["table"]["fiducial"]
    return {
        "run": run,
        "counts": validation["counts"],
        "closed": CLOSED_TABLE in manifest.inputs,
        "throughput": machine["throughput"],
        "fits": measured,
        "gates": gates,
        "figures": {
            "momentum": Markup(figures.momentum(measured)),
            "misaligned": Markup(
                figures.momentum(validation["misaligned"]["fits"]) if "misaligned" in validation else ""
            ),
            "pulls": Markup(figures.pulls(measured)),
            "pull_widths": Markup(figures.pull_widths(measured)),
            "impact": Markup(figures.impact(measured)),
            "masses": Markup(figures.masses(measured) if "masses" in measured["parkf"] else ""),
            "ghosts": Markup(figures.ghosts(measured)),
            "table": Markup(figures.table_accuracy(fiducial)),
        },
        "maps": {"steps": step_map(_ratios(_in_order(accuracy["steps"])), span=100)},
        "tables": {
            "momentum": tables.momentum(measured),
            "pulls": tables.pulls(measured),
            "lost": tables.lost(measured),
            "ghosts_kept": tables.ghosts_kept(measured["parkf"]),
            "genuine_kept": tables.genuine_kept(measured["parkf"]),
            "masses": tables.masses(measured),
            "precision": tables.precision(validation["precision"]),
            "magnet": tables.magnet(fiducial),
            "steps": _steps(fits),
            "stages": tables.stages(machine["stages"]),
            "throughput": tables.throughput(machine["throughput"]),
            "inputs": tables.Cells(
                ["input", "fingerprint or seed"],
                [[name, str(value)] for name, value in {**manifest.inputs, **manifest.seeds}.items()],
                text=("fingerprint or seed",),
            ),
        },
    }


def _steps(fits: Mapping[str, FitResult]) -> tables.Cells:
    rows = []
    for name, fit in fits.items():
        shown = light(fit)
        rows.append(
            [
                Markup('<a href="{0}.html">{0}</a>').format(name),
                FORMS[fit.forms].steps[name].text,
                Markup('<span class="light {0}" title="{0}"></span> {0}').format(shown.colour),
                shown.reason,
                str(len(fit.sets)),
                str(sum(one.rows for one in fit.sets)),
            ]
        )
    return tables.Cells(
        ["step", "what", "light", "because", "sets", "rows"], rows, ("what", "light", "because")
    )


def _slices(fit: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Figure and table of each variable that the candidates are sliced by."""
    return {
        title: {
            "figure": Markup(slices.draw(variable, fit["breakdown"][variable])),
            "table": slices.table(variable, fit["breakdown"][variable]),
        }
        for variable, title in slices.TITLES.items()
        if fit["breakdown"][variable]
    }


def _directions(fits: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Draw maps and list the worst cells of each fit that knows its momentum from all detectors."""
    return [
        {
            "title": FIT_NAMES[name],
            "planes": directions.bias_map(fit["directions"]) if fit["directions"] else None,
            "maps": directions.bias_maps(fit["cells"]),
            "worst": directions.worst(fit["cells"]),
        }
        for name, fit in fits.items()
        if "separation" in fit
    ]


def _in_order(steps: Mapping[str, Any]) -> dict[str, Any]:
    """Sort steps as a track meets them, gaps by number; JSON sorts them by letter."""

    def place(label: str) -> tuple[int, int, str]:
        step, _, rest = label.partition(".")
        return STEP_NAMES.index(step), int(re.sub(r"\D", "", rest) or 0), rest

    return {label: steps[label] for label in sorted(steps, key=place)}


def _ratios(steps: Mapping[str, Any]) -> Bins:
    """Arrange the ratios of ``accuracy.json`` for a map."""
    return {
        label: {
            component: {(row["p_min"], row["p_max"]): row["ratio_rms"] for row in rows}
            for component, rows in components.items()
        }
        for label, components in steps.items()
    }
