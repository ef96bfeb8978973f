"""Commands that check what sets are trained with, and measure their steps."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option, Typer

from parkf.cli.commands import options
from parkf.io.errors import ParkfError
from parkf.io.files import read_json, write_sealed
from parkf.io.terminal import say

app = Typer()


@app.command("check-dataset", epilog="Example: parkf check-dataset UT ut.parquet")
def check_dataset(
    step: Annotated[str, Argument(help="Name of the step: V, VUT, UT, UTTF, TFT, T or BEAM.")],
    dataset: Annotated[Path, Argument(help="Dataset of this step (.parquet).")],
) -> None:
    """Check a step dataset of your own: units, ranges, NaN, polarity, duplicates, coverage."""
    from parkf.training.datasets.checks import check_dataset as run

    rows = run(dataset, step)
    say(f"{dataset}: {rows:,} rows of step {step}, all good")


@app.command()
def kernel(
    compiling: Annotated[bool, Option("--compile", help="Compile the kernel if it is outdated.")] = False,
) -> None:
    """Check that the installed kernel was compiled from today's formulas and those of published layouts."""
    from parkf.workflow.installation import compile_kernel, kernel_is_current

    if not kernel_is_current():
        if not compiling:
            what = "the compiled kernel is older than the formulas in parkf.model.steps"
            raise ParkfError(f"{what}; run `make build`")
        compile_kernel()
    say("the kernel is of today's formulas")


@app.command(epilog="Example: parkf accuracy results/default/set")
def accuracy(
    parameters: Annotated[Path, Argument(metavar="SET", help="Set of a run: results/<run>/set.")],
    output: Annotated[Path | None, Option(help="Also write accuracy.json here.")] = None,
    beside: Annotated[Path | None, Option(help="accuracy.json of other forms, for comparison.")] = None,
    threads: options.Threads = 1,
) -> None:
    """Compare every step and the table of a run's set with Runge-Kutta, in momentum bins."""
    from parkf.detector.field import load_field
    from parkf.params.parameter_set import load
    from parkf.training.accuracy import measure_accuracy
    from parkf.training.accuracy_table import accuracy_table
    from parkf.training.assembly import CLOSED_TABLE, check_made_of

    run = parameters.parent
    fits, table = run / "fits", run / "table/table.npz"
    if not fits.is_dir():
        raise ParkfError(f"{parameters}: no fits in {run}; expected the set of a run, results/<run>/set")
    # The steps are measured with the table that they were fitted with; the table's own figures are those of
    # the set's table.
    used = run / "closure/table.npz" if CLOSED_TABLE in load(parameters).manifest.inputs else table
    blobs = check_made_of(parameters, fits, used)
    field = load_field(run / "field.npz")
    of_table = used.with_name("accuracy.json")
    measured = measure_accuracy(fits, run / "datasets", table, of_table, field, threads=threads)
    if output is not None:
        write_sealed(output, {**measured, "set": blobs.fingerprints()})
    say(accuracy_table(measured, read_json(beside) if beside else None))
