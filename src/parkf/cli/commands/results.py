"""Commands that show, check and compare the results of runs."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from parkf.cli.commands.answers import NO_ANSWER, answer, exit_on_error, gate_table
from parkf.cli.commands.options import (
    GATES,
    GatesFile,
    Json,
    RegistryFolder,
    RunFolder,
    Schemas,
    Threads,
    registry_in,
)
from parkf.io.errors import ParkfError

app = typer.Typer()


@app.command()
def gate(results: RunFolder, gates: GatesFile = GATES, as_json: Json = False) -> None:
    """Compare a run's figures with the gates; exits with 1 when one is missed, with 2 without figures."""
    from parkf.proof.gates import hold, load_thresholds

    with exit_on_error(NO_ANSWER):
        held = hold(results / "set", load_thresholds(gates))
    missed = sum(not one.met for one in held)
    verdict = f"{missed} of {len(held)} gates missed" if missed else f"all {len(held)} gates met"
    content = {"passed": missed == 0, "gates": [one.model_dump() for one in held]}
    answer(as_json, content, lambda: f"{gate_table(held)}\n\n{results}: {verdict}", yes=not missed)


@app.command()
def stages(
    logs: Annotated[Path, typer.Argument(help="Folder with the logs of a run's jobs.")], output: Path
) -> None:
    """Add up time and memory of every stage."""
    from parkf.io.files import write_sealed
    from parkf.report.stages import collect_stages

    write_sealed(output, collect_stages(logs))


@app.command()
def check(
    configuration: Annotated[Path, typer.Argument(help="workflow/config/<run>.yaml, or that of a family.")],
    family: Annotated[bool, typer.Option("--family", help="The configuration is that of a family.")] = False,
    schemas: Schemas = Path("workflow/schemas"),
) -> None:
    """Check all that a run would read: configuration, detector, field, others' files, gates."""
    from parkf.io.project import found
    from parkf.proof.gates import load_thresholds
    from parkf.workflow.config import SCHEMA, read_config
    from parkf.workflow.family import read_family

    if family:
        read_family(configuration, found(schemas), Path())
    else:
        read_config(configuration, found(schemas) / SCHEMA.name, Path())
    load_thresholds(found(GATES))
    print(f"{configuration}: good, and so is all that it names")


@app.command()
def verify(
    folders: Annotated[
        list[Path], typer.Argument(help="Runs (results/<run>), or registries of sets (params).")
    ],
) -> None:
    """Read every table, archive, JSON file and set below folders, and compare them with their checksums."""
    from parkf.workflow.running.damage import verify as run

    results = [run(folder) for folder in folders]
    count, problems = sum(read for read, _ in results), [one for _, found in results for one in found]
    if problems:
        raise ParkfError("\n".join([*problems, f"{len(problems)} of {count} files are not sound"]))
    print(f"{count} files are sound")


@app.command()
def report(
    results: RunFolder,
    output: Path,
    gates: GatesFile = GATES,
    geometry: Annotated[
        Path | None, typer.Option(help="Geometry of the set, to keep a copy of; searched for by default.")
    ] = None,
    alignment: Annotated[Path | None, typer.Option(help="Its alignment, likewise.")] = None,
    threads: Threads = 1,
) -> None:
    """Write the pages of a run, and run.json, beside.json and copies of its inputs next to its figures."""
    from parkf.proof.gates import load_thresholds
    from parkf.report.pages import write_report

    given = {"geometry": geometry, "alignment": alignment}
    inputs = {kind: path for kind, path in given.items() if path is not None}
    write_report(results, output, load_thresholds(gates), inputs=inputs, threads=threads)


@app.command()
def explain(
    parameters: Annotated[Path, typer.Argument(help="Folder of a parameter set.")],
    fits: Annotated[Path | None, typer.Option(help="Folder of the fits, for the errors.")] = None,
    table: Annotated[bool, typer.Option("--table", help="The 240,000 numbers of the magnet too.")] = False,
) -> None:
    """Print every number of a set: block, set, index, name, value, unit, error."""
    from parkf.training.explanation import COLUMNS
    from parkf.training.explanation import explain as rows

    print("\t".join(COLUMNS))
    for row in rows(parameters, fits=fits, table=table):
        cells = ("" if cell is None else f"{cell:.9g}" if isinstance(cell, float) else cell for cell in row)
        print("\t".join(map(str, cells)))


@app.command()
def where(results: RunFolder, gates: GatesFile = GATES) -> None:
    """Print the main figures of a run, and where its results are."""
    from parkf.proof.gates import load_thresholds
    from parkf.report.summary import summary

    print(summary(results, load_thresholds(gates)))


@app.command()
def compare(
    subjects: Annotated[
        list[str] | None,
        typer.Argument(metavar="A B …", help="Runs (results/<run>), sets, or published versions."),
    ] = None,
    detector: Annotated[
        str | None, typer.Option(help="Instead: all published sets of a detector, oldest first.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Figures that are the same, too.")] = False,
    page: Annotated[Path | None, typer.Option(help="An HTML page to write.")] = None,
    gates: GatesFile = GATES,
    registry: RegistryFolder = None,
    as_json: Json = False,
) -> None:
    """Compare with the first: what differed in inputs and code, then figures, in errors and as ratios."""
    from parkf.proof.comparing import compare_subjects, load_subject, published_of
    from parkf.proof.gates import load_thresholds

    if bool(subjects) == bool(detector):
        raise ParkfError("compare: expected two runs or sets at least, or --detector")
    sets, thresholds = registry_in(registry), load_thresholds(gates)
    names = published_of(detector, sets) if detector else subjects or []
    comparison = compare_subjects([load_subject(name, thresholds, sets) for name in names])
    if page is not None:
        from parkf.report.compare_page import write_comparison

        write_comparison(comparison, page)
    if as_json:
        answer(as_json, comparison.content(), str)
        return
    from rich.console import Console

    from parkf.proof.comparing.comparison import shown

    # Lines are not broken when the output does not go to a terminal.
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 400)
    for part in shown(comparison, everything=everything):
        console.print(part)


@app.command()
def display(
    results: RunFolder,
    output: Annotated[Path, typer.Argument(help="HTML page to write.")],
    sample: Annotated[
        str | None,
        typer.Option(help="Its name, such as validation_up; the first validation sample by default."),
    ] = None,
    event: Annotated[
        int | None, typer.Option(min=0, help="Number of the event; the first by default.")
    ] = None,
    track: Annotated[
        list[int] | None,
        typer.Option(help="Number of a track; may be repeated. A typical, a bad and a false one by default."),
    ] = None,
) -> None:
    """Draw an event: hits, tracks that were found, their fits, the truth, and ghosts."""
    from parkf.report.event_page import write_event

    shown = write_event(results, output, sample=sample, number=event, tracks=track or [])
    print(f"{output}: event {shown.number} of {shown.sample}, {len(shown.tracks)} tracks")
