"""Commands that check what sets are trained with, and measure their steps."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option, Typer

from parkf.cli.commands.options import Share
from parkf.io.terminal import say

app = Typer()


@app.command("check-dataset", epilog="Example: parkf check-dataset UT ut.parquet --field field.npz")
def check_dataset(
    step: Annotated[str, Argument(help="Name of the step: V, VUT, UT, UTTF, TFT, T or BEAM.")],
    dataset: Annotated[Path, Argument(help="Dataset of this step (.parquet).")],
    field: Annotated[
        Path | None, Option(help="Field map (.npz) to carry each row through; else bends are compared.")
    ] = None,
    share: Share = 1e-3,
    left_out: Annotated[Path | None, Option(help="File for the rows that are left out (.csv).")] = None,
) -> None:
    """Check each row of a step dataset of your own: units, ranges, NaN, polarity, duplicates, coverage."""
    from parkf.detector.field import load_field
    from parkf.training.datasets.checks import check_dataset as run

    left, _ = run(dataset, step, field=load_field(field) if field else None, share=share, threads=None)
    if left_out is not None:
        left.write(left_out)
    say(left.summary())
