"""Commands that show and check an installation, tables and the results of runs."""

import os
from dataclasses import asdict
from pathlib import Path
from textwrap import fill
from typing import Annotated, Any

from typer import Argument, BadParameter, Option, Typer

from parkf.cli.commands.options import (
    GATES,
    GatesFile,
    Json,
    RegistryFolder,
    RunFolder,
    registry_in,
)
from parkf.cli.messages import NO_ANSWER, exit_on_error, gate_table, print_answer, refuse_foreign
from parkf.io.errors import ParkfError
from parkf.io.files import read_json
from parkf.io.terminal import WIDTH, aligned, say, shortened

app = Typer()

# Missed gates that are named at the end of a run.
_MOST_MISSED = 20


@app.command(epilog="Example: parkf doctor")
def doctor(as_json: Json = False) -> None:
    """Report what is installed, what fits run on, and what is missing for each task.

    Exits with 1 when something is missing that training, validating or fitting needs.
    """
    from parkf.workflow.installation import TASKS, examine

    found = examine()
    taken, *others = found["builds"]
    facts = {
        **{name: found[name] for name in ("parkf", "python", "system")},
        "kernel": f"runs in the {taken} build" + (f" (also here: {', '.join(others)})" if others else ""),
        "formulas": "those that the kernel was compiled from"
        if found["current"]
        else "NEWER than the kernel: run `make build`",
        "cores": found["cores"],
        "memory": f"{found['memory_gb']} GB, {found['free_gb']} GB free",
        "GPU": found["gpu"],
        "compiler": found["compiler"] or "none: changed formulas cannot be compiled",
        "nvcc": found["nvcc"] or "none; CuPy brings its own compiler",
    }
    rows = [
        (what, f"lacks {', '.join(lacks)}", f"pip install 'parkf{f'[{extra}]' if extra else ''}'")
        if (lacks := found["missing"][extra])
        else (what, "ready", "")
        for extra, what in TASKS.items()
    ]
    text = "\n".join(f"{what:<10}{value}" for what, value in facts.items())
    ready = found["current"] and not found["missing"][""]
    print_answer(as_json, found, f"{text}\n\n{aligned(('task', '', 'how'), rows)}", yes=ready)


@app.command(epilog="Example: parkf schema candidates")
def schema(
    name: Annotated[str | None, Argument(help="Table or document; by default, list the tables.")] = None,
    as_json: Json = False,
) -> None:
    """Print the columns of a table: type, unit, meaning; or the JSON schema of a document.

    Documents are configuration, family, gates, geometry, alignment, dipole, column-map, and manifest.
    """
    from parkf.report.column_reference import TABLES, described, table_named

    if name is None:
        summary = [(one.name, one.version, len(one.columns)) for one in TABLES]
        content: Any = [{"name": one, "version": number} for one, number, _ in summary]
        print_answer(as_json, content, aligned(("table", "version", "columns"), summary))
        return
    if name not in [one.name for one in TABLES]:
        # Imported here, because tables are described without the packages that documents need.
        from parkf.workflow.documents import DOCUMENTS

        if name in DOCUMENTS:
            print_answer(True, DOCUMENTS[name].model_json_schema(), "")
            return
    found = table_named(name)
    columns = described(found)
    content = {"name": found.name, "version": found.version, "columns": [asdict(one) for one in columns]}
    rows = [
        (one.name, one.type, one.unit, one.meaning + (f" ({one.option})" if one.option else ""))
        for one in columns
    ]
    print_answer(as_json, content, aligned(("column", "type", "unit", "meaning"), rows))


@app.command(epilog="Example: parkf why default")
def why(
    run: Annotated[Path, Argument(metavar="RUN", help="A run, results/<run>, or its configuration.")],
    cores: Annotated[int | None, Option(help="Cores of the run; all of this machine by default.")] = None,
) -> None:
    """Report what changed since a run's results were made, what would be made again, and for how long."""
    from parkf.workflow.config import CONFIGS
    from parkf.workflow.why import in_words
    from parkf.workflow.why import why as ask

    config = run if run.suffix == ".yaml" else CONFIGS / f"{run.name}.yaml"
    say(in_words(ask(config, cores or os.cpu_count() or 1)))


@app.command(epilog="Example: parkf gate results/default")
def gate(results: RunFolder, gates: GatesFile = GATES, as_json: Json = False) -> None:
    """Compare a run's figures with the gates; exits with 1 when one is missed, with 2 without figures."""
    from parkf.proof.gates import hold, load_thresholds
    from parkf.proof.gates.room import count

    with exit_on_error(NO_ANSWER):
        refuse_foreign(results)
        held = hold(results / "set", load_thresholds(gates))
    met = all(one.met for one in held)
    content = {"passed": met, "gates": [one.model_dump() for one in held]}
    print_answer(as_json, content, f"{gate_table(held)}\n\n{results}: {count(held)}", yes=met)


@app.command(epilog="Example: parkf verify results/default params")
def verify(
    folders: Annotated[list[Path], Argument(help="Folders of runs, or registries of sets.")],
    signers: Annotated[
        Path | None,
        Option(help="Your file of keys (allowed_signers); one of them must have signed the index."),
    ] = None,
) -> None:
    """Read every table, archive, JSON file and set in folders, and compare them with their checksums.

    Of a run, also find what is not the product of its own jobs and of today's geometry, alignment and field.
    All files of a registry are also compared with its index.
    """
    from parkf.workflow.damage import verify as run
    from parkf.workflow.products import check_runs

    results = [run(folder, signers) for folder in folders]
    count, problems = sum(read for read, _ in results), [one for _, found in results for one in found]
    broken = [one for folder in folders for one in check_runs(folder)]
    named = {one.partition(":")[0] for one in broken}
    problems = [*broken, *(one for one in problems if one.partition(":")[0] not in named)]
    if problems:
        raise ParkfError("\n".join([*problems, f"{len(problems)} of {count} files are not sound"]))
    say(f"{count} files are sound")


def print_end(results: Path, gates: Path) -> None:
    """Print the end of a run: whether to replace the published set, missed gates, where its results are."""
    from parkf.proof.comparing.subject import BESIDE_FILE
    from parkf.proof.gates import hold, load_thresholds
    from parkf.proof.gates.room import count, verdict

    counts = read_json(results / "validation.json")["counts"]
    held = hold(results / "set", load_thresholds(gates))
    # What is missed stands before what too few tracks left open.
    missed = sorted((one for one in held if not one.met), key=verdict)
    beside = results / BESIDE_FILE
    if beside.is_file() and (said := read_json(beside).get("answer")):
        say(fill(said["sentence"], WIDTH, break_on_hyphens=False))
    tracks = f"{counts['genuine']} genuine tracks, {counts['ghost']} ghosts"
    say(f"{tracks}; {count(held)}")
    for one in missed[:_MOST_MISSED]:
        say(shortened(f"{verdict(one).upper()}  {one}".replace(": not measured: ", ": ")))
    say(
        f"all gates           parkf gate {results}\n"
        f"parameter set       {results / 'set'}\n"
        f"validation numbers  {results / 'validation.json'}\n"
        f"step accuracy       {results / 'accuracy.json'}\n"
        f"report              {results / 'report/index.html'}"
    )


@app.command(epilog="Example: parkf compare 2026-run3-like-2-r003 results/default")
def compare(
    subjects: Annotated[list[str], Argument(metavar="A B …", help="Runs, sets or versions.")],
    on: Annotated[
        Path | None,
        Option(
            metavar="RUN", help="Fit the tracks of this run with all of them, and say whether to replace A."
        ),
    ] = None,
    effect: Annotated[
        bool,
        Option(
            "--effect",
            help="Of a set A alone: what it loses, without training, on a detector with another --geometry,"
            " --alignment or --field. Simulates tracks there and in its own detector; takes a minute.",
        ),
    ] = False,
    geometry: Annotated[Path | None, Option(help="With --effect: the other geometry (YAML).")] = None,
    alignment: Annotated[Path | None, Option(help="With --effect: the other alignment (YAML).")] = None,
    field: Annotated[Path | None, Option(help="With --effect: the other field (.json or .npz).")] = None,
    gates: GatesFile = GATES,
    registry: RegistryFolder = None,
    as_json: Json = False,
) -> None:
    """Compare runs or sets with the first one: inputs, code, and figures, in errors."""
    from parkf.proof.comparing import compare_subjects, load_subject
    from parkf.proof.gates import load_thresholds

    for name in subjects:
        refuse_foreign(Path(name))
    sets, thresholds = registry_in(registry), load_thresholds(gates)
    changed = {"geometry": geometry, "alignment": alignment, "field source": field}
    files = {kind: path for kind, path in changed.items() if path is not None}
    if effect != bool(files) or (effect and (len(subjects) != 1 or on is not None)):
        raise BadParameter(
            "--effect needs one set, and --geometry, --alignment or --field of another detector"
        )
    loaded = [load_subject(name, thresholds, sets) for name in subjects]
    if effect:
        from parkf.proof.comparing.effect import measure_effect

        content = measure_effect(loaded[0].folder, files)
        names = ("own detector", "other detector")
        _tell_paired(content, names, as_json=as_json)
        if not as_json:
            say(
                "\nBiases and pulls: less those of a full fit of the same tracks. Cores and ghosts: over its."
            )
        return
    if on is not None:
        from parkf.proof.comparing.tracks import compare_on

        for other in loaded[1:]:
            content = compare_on(on, loaded[0], other)
            names = (other.name, loaded[0].name)
            _tell_paired(content, names, as_json=as_json)
        return
    comparison = compare_subjects(loaded)
    print_answer(as_json, comparison.content(), str(comparison))


def _tell_paired(content: dict[str, Any], names: tuple[str, str], *, as_json: bool) -> None:
    """Print the answer from two fits of the same tracks, and the table under a report's head.

    Of cells, the table has those with a difference that counts.
    """
    from markupsafe import Markup

    from parkf.proof.comparing.replacement import sure
    from parkf.report.tables import tabulate_pairs

    figures = content.get("paired", content)["figures"]
    chosen = [one for one in figures if "tx" not in one or sure(one)]
    cells = tabulate_pairs({"figures": chosen}, *names)
    rows = [[Markup(cell).striptags() for cell in row] for row in cells.rows]
    said = fill(content["answer"], WIDTH, break_on_hyphens=False)
    print_answer(as_json, content, f"{said}\n\n{aligned(cells.head, rows)}")
