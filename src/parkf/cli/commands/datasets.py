"""Commands that make step datasets chunk by chunk, and join the chunks."""

from pathlib import Path
from typing import Annotated

import typer

from parkf.cli.commands.options import AlignedGeometry, Detector, Threads, grouped

app = typer.Typer()

Samples = Annotated[str, typer.Option("--samples", help="Names of the samples, separated by blanks.")]
Chunks = Annotated[int, typer.Option("--chunks", min=1, help="Chunks of each sample.")]
MaxRows = Annotated[int, typer.Option("--max-rows", min=1000, help="Rows kept for each step.")]


@app.command()
@grouped
def draw(
    particles: Path,
    states: Path,
    output: Path,
    detector: AlignedGeometry,
    max_rows: MaxRows = 300_000,
) -> None:
    """Draw which rows of a sample's datasets may be kept."""
    from parkf.training.datasets.lottery import draw as run

    run(particles, states, output, beam=detector.aligned().beam, max_rows=max_rows)


@app.command()
def thresholds(
    folder: Annotated[Path, typer.Argument(help="Files of `draw`, by chunk.")],
    output: Path,
    samples: Samples,
    chunks: Chunks = 1,
    max_rows: MaxRows = 300_000,
) -> None:
    """Find up to which drawn number rows are kept, from the draws of all samples."""
    from parkf.training.datasets.lottery import find_thresholds
    from parkf.workflow.chunks import chunk_files

    draws = chunk_files([folder / sample for sample in samples.split()], chunks, ".npz")
    find_thresholds(draws, output, max_rows=max_rows)


@app.command()
@grouped
def datasets(
    particles: Path,
    states: Path,
    folder: Annotated[Path, typer.Argument(help="Takes <step>.parquet of every step.")],
    thresholds: Annotated[Path, typer.Option(help="Which rows are kept, by `thresholds`.")],
    detector: Detector,
    threads: Threads = 1,
) -> None:
    """Build a sample's rows for every step: true origin, true target, Runge-Kutta target."""
    from parkf.training.datasets.builder import build_rows

    build_rows(
        particles,
        states,
        thresholds,
        folder,
        beam=detector.aligned().beam,
        field=detector.field_map(),
        threads=threads,
    )


@app.command("gather-dataset")
def gather_dataset(
    step: str,
    folder: Annotated[Path, typer.Argument(help="Output of `datasets`, a folder for each chunk.")],
    output: Path,
    samples: Samples,
    chunks: Chunks = 1,
) -> None:
    """Join the rows of a step, set by set."""
    from parkf.training.datasets.gather import gather_rows
    from parkf.workflow.chunks import chunk_files

    parts = chunk_files([folder / sample for sample in samples.split()], chunks, f"/{step}.parquet")
    gather_rows(parts, output, step)


@app.command()
def gather(
    sample: Annotated[Path, typer.Argument(help="Folder with <number>-of-<chunks>.parquet.")],
    output: Path,
    chunks: Chunks,
) -> None:
    """Join the chunks of a sample in one file."""
    from parkf.io.join import gather as run
    from parkf.workflow.chunks import chunk_files

    run(chunk_files([sample], chunks, ".parquet"), output)
