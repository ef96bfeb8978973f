"""Commands that check what sets are trained with, and measure their steps."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option, Typer

from parkf.cli.commands.options import Share
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
