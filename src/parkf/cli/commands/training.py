"""Commands that check what sets are trained with, and measure their steps."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Typer

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
