"""Commands that show what a run has come to."""

from pathlib import Path
from typing import Annotated

import typer

from parkf.cli.commands.options import Threads
from parkf.cli.commands.params.gates import GATES, GatesFile, gate

app = typer.Typer()
app.command()(gate)


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
    family: Annotated[bool, typer.Option("--family", help="It is that of a family.")] = False,
    schemas: Annotated[Path, typer.Option(help="Folder of the schemas.")] = Path("workflow/schemas"),
) -> None:
    """Look at all that a run would read: configuration, detector, field, others' files, gates."""
    from parkf.io.project import found
    from parkf.proof.gates import load_thresholds
    from parkf.workflow.family import read_family
    from parkf.workflow.run import SCHEMA, read_config

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
    """Read every table, archive, JSON file and set below folders, and hold them against their checksums."""
    from parkf.io.errors import ParkfError
    from parkf.workflow.running.verify import verify as run

    results = [run(folder) for folder in folders]
    count, problems = sum(read for read, _ in results), [one for _, found in results for one in found]
    if problems:
        raise ParkfError("\n".join([*problems, f"{len(problems)} of {count} files are not sound"]))
    print(f"{count} files are sound")


@app.command()
def report(
    results: Annotated[Path, typer.Argument(help="Folder of a run.")],
    output: Path,
    gates: GatesFile = GATES,
    geometry: Annotated[
        Path | None, typer.Option(help="What the set was made from, to be kept; looked for by default.")
    ] = None,
    alignment: Annotated[Path | None, typer.Option(help="The same.")] = None,
    threads: Threads = 1,
) -> None:
    """Write the pages of a run; and beside its figures run.json, beside.json and copies of its inputs."""
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
def where(
    results: Annotated[Path, typer.Argument(help="Folder of a run.")], gates: GatesFile = GATES
) -> None:
    """Say where the outcome of a run lies, and its main figures."""
    from parkf.proof.gates import load_thresholds
    from parkf.report.summary import summary

    print(summary(results, load_thresholds(gates)))
