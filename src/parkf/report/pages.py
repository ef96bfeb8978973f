"""Writes the report of a run: the overview, and all other pages."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from parkf.io.files import read_json, write_sealed
from parkf.io.workers import parallel_map
from parkf.model.steps import STEP_NAMES
from parkf.params import load
from parkf.params.registry import readable_registry
from parkf.proof.comparing import compare_subjects, load_subject
from parkf.proof.comparing.documents import keep_documents
from parkf.proof.comparing.replacement import judge_replacement
from parkf.proof.comparing.subject import BESIDE_FILE, IDENTITY_FILE, identify
from parkf.proof.comparing.tracks import measure_beside
from parkf.proof.gates import Thresholds
from parkf.proof.publishing import Decision, decide
from parkf.report.compare_page import comparison_page
from parkf.report.figures import FIT_NAMES
from parkf.report.kinds_page import kinds_page
from parkf.report.maps import directions_page
from parkf.report.overview import figures_part, verdict_part
from parkf.report.site import write_page
from parkf.report.slices import slices_page
from parkf.report.step_page import step_page
from parkf.training.result import FitResult


def write_report(
    results: Path,
    index: Path,
    thresholds: Thresholds,
    *,
    inputs: Mapping[str, Path] | None = None,
    threads: int = 1,
) -> None:
    """Write a run's report, ``run.json``, ``beside.json`` and copies of its inputs.

    `index` is the path of the overview; the other pages lie beside it. `inputs` are the ``geometry`` and the
    ``alignment`` that the set was made from; they are searched for by default. `threads` pages are drawn at
    the same time; the bytes of the pages do not depend on this number.
    """
    validation, accuracy = (read_json(results / f"{name}.json") for name in ("validation", "accuracy"))
    for measured in (validation, validation.get("misaligned", {"fits": {}})):
        measured["fits"] = {name: measured["fits"][name] for name in FIT_NAMES if name in measured["fits"]}
    parameters, registry = load(results / "set"), readable_registry()
    manifest, against = parameters.manifest, registry.newest_alike(parameters.manifest)
    # The identity names the copies that are kept here, and not other files of the same meaning.
    keep_documents(results, manifest, inputs or {})
    write_sealed(results / IDENTITY_FILE, identify(results, manifest))
    measure_beside(results, registry.path(against) if against else None)
    own = load_subject(str(results), thresholds, registry)
    comparison = compare_subjects([load_subject(against, thresholds, registry), own]) if against else None
    fits = {name: FitResult.load(results / "fits" / f"{name}.json") for name in STEP_NAMES}

    # Title of each page, and the function that makes its content.
    contents: dict[str, tuple[str, Callable[[], dict[str, Any]]]] = {
        "compare": ("What changed", partial(comparison_page, comparison))
    }
    for name in STEP_NAMES:
        contents[name] = (f"Step {name}", partial(step_page, fits[name]))
    contents |= {
        "slices": ("Slices", partial(slices_page, validation["fits"]["parkf"])),
        "directions": ("Directions", partial(directions_page, validation["fits"])),
        "kinds": ("Kinds of tracks", partial(kinds_page, validation.get("kinds", {}))),
    }
    titles = [(f"{name}.html", title) for name, (title, _) in contents.items()]
    pages = [(index.name, "Overview"), *titles]

    def write(name: str) -> Decision | None:
        if name == index.stem:
            return decide(parameters, results, own.gates, registry)
        template = "step" if name in fits else name
        content = contents[name][1]()
        write_page(index.with_name(f"{name}.html"), f"{template}.html", pages=pages, **content)
        return None

    # The slowest comes first: the decision on the overview.
    names = [index.stem, *contents]
    (decision,) = filter(None, parallel_map(write, names, threads))
    if (beside := own.beside) and beside["paired"]:
        beside["answer"] = asdict(judge_replacement(beside["paired"], beside["version"], decision.gates))
        write_sealed(results / BESIDE_FILE, beside)
    # The overview is written last: once it exists, every page that it links to exists.
    write_page(
        index,
        "index.html",
        pages=pages,
        run=results.name,
        **verdict_part(own, comparison, decision),
        **figures_part(own, validation, accuracy, fits),
    )
