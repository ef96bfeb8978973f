"""Commands that check what sets are trained with, and measure their steps."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option, Typer

from parkf.cli.commands.options import Share
from parkf.io.errors import ParkfError
from parkf.io.terminal import say

app = Typer()


@app.command("check-dataset", epilog="Example: parkf check-dataset UT ut.parquet")
def check_dataset(
    step: Annotated[str, Argument(help="Name of the step: V, VUT, UT, UTTF, TFT, T or BEAM.")],
    dataset: Annotated[Path, Argument(help="Dataset of this step (.parquet).")],
    share: Share = 1e-3,
    left_out: Annotated[Path | None, Option(help="File for the rows that are left out (.csv).")] = None,
) -> None:
    """Check each row of a step dataset of your own: units, ranges, NaN, polarity, duplicates, coverage."""
    from parkf.training.datasets.checks import check_dataset as run

    left, _ = run(dataset, step, share=share)
    if left_out is not None:
        left.write(left_out)
    say(left.summary())


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
