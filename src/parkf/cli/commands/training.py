"""Commands that check what sets are trained with, and measure their steps."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option, Typer

from parkf.io.errors import ParkfError
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
