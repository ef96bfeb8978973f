"""Writes the pages: the overview, one page a step, and the list of all constants."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from markupsafe import Markup

from parkf.io.errors import ParkfError
from parkf.io.files import read_json, write_sealed
from parkf.io.workers import parallel_map
from parkf.model.steps import FORMS, STEP_NAMES
from parkf.params import Manifest, load
from parkf.params.manifest import Gate
from parkf.params.registry import readable_registry
from parkf.proof.comparing import Comparison, Subject, compare_subjects, load_subject
from parkf.proof.comparing.documents import keep_documents
from parkf.proof.comparing.identity import IDENTITY_FILE, identify
from parkf.proof.comparing.subject import measure_beside
from parkf.proof.gates import NEAR, Light, Thresholds, nearest, step_light
from parkf.report import directions, figures, slices, tables
from parkf.report.closure_page import closure_page
from parkf.report.compare_page import comparison_page, published_trend
from parkf.report.detector_page import detector_page
from parkf.report.event import load_event
from parkf.report.event_page import event_page, without_event
from parkf.report.figures import FIT_NAMES
from parkf.report.gantt import gantt
from parkf.report.job_graph import GRAPH_FILE
from parkf.report.rule_graph import draw_rules
from parkf.report.site import Page, write_page
from parkf.report.step_map import Bins, ratio_map
from parkf.report.step_page import moves, newest_alike, step_page
from parkf.report.table_map import table_maps
from parkf.training.assembly import CLOSED_TABLE
from parkf.training.result import FitResult

# Gates that the head of the report shows besides the missed ones.
_NEAREST = 10


def write_report(
    results: Path,
    index: Path,
    thresholds: Thresholds,
    *,
    inputs: Mapping[str, Path] | None = None,
    threads: int = 1,
) -> None:
    """Write the report of a run; and into its folder ``run.json``, ``beside.json`` and copies of its inputs.

    Parameters
    ----------
    results : Path
        Folder of a finished run.
    index : Path
        The overview; the other pages lie beside it.
    thresholds : Thresholds
        What the figures are held against.
    inputs : mapping of str to Path, optional
        Files that the set was made from, ``geometry`` and ``alignment``; looked for by default.
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
    write_sealed(results / IDENTITY_FILE, identify(results, manifest))
    keep_documents(results, manifest, inputs or {})
    measure_beside(results, registry.path(against) if against else None)
    own = load_subject(str(results), thresholds, registry)
    comparison = compare_subjects([load_subject(against, thresholds, registry), own]) if against else None
    gates = own.gates
    fits = {name: FitResult.load(results / "fits" / f"{name}.json") for name in STEP_NAMES}
    lights = {name: step_light(name, gates, thresholds) for name in STEP_NAMES}
    fit = validation["fits"]["parkf"]
    contents: dict[str, tuple[str, str, Callable[[], dict[str, Any]]]] = {
        "compare": (
            "What changed",
            "compare.html",
            partial(comparison_page, comparison, published_trend(own, thresholds, registry)),
        ),
        **{
            name: (f"Step {name}", "step.html", partial(step_page, fits[name], lights[name], against, pulls))
            for name in STEP_NAMES
        },
        **(
            {"closure": ("Closure", "closure.html", partial(_closed, results))}
            if CLOSED_TABLE in manifest.inputs
            else {}
        ),
        "event": ("An event", "event.html", partial(_event, results)),
        "detector": (
            "Detector",
            "detector.html",
            partial(detector_page, results, index.with_name("figures")),
        ),
        "slices": ("Slices", "slices.html", partial(_sliced, fit)),
        "directions": ("Directions", "directions.html", partial(_directed, validation["fits"])),
        "timing": ("How it ran", "timing.html", partial(_timed, results, machine["stages"])),
        "parameters": ("All constants", "parameters.html", partial(_constants, results)),
    }
    pages = [
        Page(index.name, "Overview"),
        *(Page(f"{name}.html", title) for name, (title, _, _) in contents.items()),
    ]

    def write(name: str) -> None:
        _, template, content = contents[name]
        write_page(index.with_name(f"{name}.html"), template, pages=pages, **content())

    # The longest first, so that all end together: steps of many sets, and the detector, which is drawn.
    rows = {name: len(fits[name].sets) if name in fits else 1 for name in contents} | {"detector": 12}
    for _ in parallel_map(write, sorted(contents, key=rows.__getitem__, reverse=True), threads):
        pass
    # The overview is written last: once it exists, every page that it links to exists.
    write_page(
        index,
        "index.html",
        pages=pages,
        **_head(own, comparison, lights, gates),
        **_overview(results.name, validation, accuracy, machine, manifest, fits, lights, own.beside or {}),
    )


def _event(results: Path) -> dict[str, Any]:
    try:
        return event_page(load_event(results))
    except ParkfError as error:
        # Large runs may remove their hits first; the report is then written without an event.
        return without_event(str(error))


def _sliced(fit: Mapping[str, Any]) -> dict[str, Any]:
    return {"slices": _slices(fit), "fates": slices.fates(fit["fates"])}


def _directed(fits: Mapping[str, Any]) -> dict[str, Any]:
    return {"fits": _directions(fits), "errors": directions.ERRORS}


def _timed(results: Path, stages: Mapping[str, Any]) -> dict[str, Any]:
    graph = results / GRAPH_FILE
    return {
        "content": stages,
        "gantt": gantt(stages["stages"]),
        "rules": draw_rules(read_json(graph)["rules"]) if graph.is_file() else None,
        "stages": tables.stages(stages),
    }


def _constants(results: Path) -> dict[str, Any]:
    return {"numbers": tables.constants(results / "set", results / "fits")}


def _closed(results: Path) -> dict[str, Any]:
    return closure_page(read_json(results / "closure" / "closure.json"))


def _head(
    own: Subject,
    comparison: Comparison | None,
    lights: Mapping[str, Light],
    gates: Sequence[Gate],
) -> dict[str, Any]:
    """Lay out the first screen: verdict, what changed, what the run is, and the gates that matter."""
    ordered = nearest(gates)
    missed = [gate for gate in ordered if not gate.met]
    close = [gate for gate in ordered if gate.met][:_NEAREST]
    rest = [gate for gate in gates if gate.met and gate not in close]
    fits = (
        {}
        if comparison is None
        else {
            subject.name: subject.validation["fits"]["parkf"]
            for subject in reversed(comparison.subjects)
            if subject.validation is not None
        }
    )
    if not fits and own.validation is not None:
        fits = {own.name: own.validation["fits"]["parkf"]}
    return {
        "near": NEAR,
        "lights": lights,
        "missed": missed,
        "gate_tables": {
            "missed": tables.gates(missed),
            "close": tables.gates(close),
            "rest": tables.gates(rest),
        },
        "count": len(gates),
        "comparison": comparison,
        "verdict": figures.verdict(fits, {name: name for name in fits}, same_tracks=True),
        "identity": own.identity or {},
    }


def _overview(
    run: str,
    validation: Mapping[str, Any],
    accuracy: Mapping[str, Any],
    machine: Mapping[str, Any],
    manifest: Manifest,
    fits: Mapping[str, FitResult],
    lights: Mapping[str, Light],
    beside: Mapping[str, Any],
) -> dict[str, Any]:
    measured, fiducial = validation["fits"], accuracy["table"]["fiducial"]
    # The published set on the same tracks, where its figures are at hand.
    overlaid, names = dict(measured), dict(FIT_NAMES)
    if beside.get("fit"):
        overlaid["beside"], names["beside"] = beside["fit"], beside["version"] or "the set beside"
    return {
        "run": run,
        "counts": validation["counts"],
        "closed": CLOSED_TABLE in manifest.inputs,
        "throughput": machine["throughput"],
        "fits": measured,
        "figures": {
            "momentum": figures.momentum(overlaid, names),
            "misaligned": figures.momentum(validation["misaligned"]["fits"], name="misaligned")
            if "misaligned" in validation
            else None,
            "pulls": figures.pulls(measured),
            "pull_widths": figures.pull_widths(overlaid, names),
            "impact": figures.impact(measured),
            "masses": figures.masses(measured) if "masses" in measured["parkf"] else None,
            "ghosts": figures.ghosts(measured),
            "table": figures.table_accuracy(fiducial),
        },
        "maps": {
            "steps": ratio_map(_ratios(_in_order(accuracy["steps"]))),
            "magnet": table_maps(accuracy["table"]["maps"]) if "maps" in accuracy["table"] else {},
        },
        "tables": {
            "momentum": tables.momentum(measured),
            "pulls": tables.pulls(measured),
            "lost": tables.lost(measured),
            "ghosts_kept": tables.ghosts_kept(measured["parkf"]),
            "genuine_kept": tables.genuine_kept(measured["parkf"]),
            "masses": tables.masses(measured),
            "precision": tables.precision(validation["precision"]),
            "magnet": tables.magnet(fiducial),
            "steps": _steps(fits, lights),
            "throughput": tables.throughput(machine["throughput"]),
            "inputs": tables.Cells(
                ["input", "fingerprint or seed"],
                [[name, str(value)] for name, value in {**manifest.inputs, **manifest.seeds}.items()],
                text=("fingerprint or seed",),
            ),
        },
    }


def _steps(fits: Mapping[str, FitResult], lights: Mapping[str, Light]) -> tables.Cells:
    rows = []
    for name, fit in fits.items():
        shown = lights[name]
        rows.append(
            [
                Markup('<a href="{0}.html">{0}</a>').format(name),
                FORMS[fit.forms].steps[name].text,
                Markup('<span class="light {0}"></span> {0}').format(shown.colour),
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
            "anchor": variable,
            "figure": slices.draw(variable, fit["breakdown"][variable]),
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
