"""The command line: one command for each stage, on files. Imports wait until their command runs."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from parkf.errors import ParkfError

app = typer.Typer(
    help="Train, prove and publish the parameters of LHCb's Parameterised Kalman Filter.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

GeometryFile = Annotated[Path, typer.Option("--geometry", help="Geometry file (YAML).")]
AlignmentFile = Annotated[Path, typer.Option("--alignment", help="Alignment file (YAML).")]
FieldFile = Annotated[Path, typer.Option("--field", help="Field map (.npz).")]
Polarity = Annotated[int, typer.Option("--polarity", help="+1 MagUp, -1 MagDown.")]
Seed = Annotated[int, typer.Option("--seed", help="Decides every random draw.")]
Threads = Annotated[int, typer.Option("--threads", min=1, help="Cores to use; results do not depend on it.")]


@app.command()
def field(
    source: Path,
    output: Path,
    spacing: Annotated[float, typer.Option(help="Grid spacing [mm], for analytic sources.")] = 100.0,
    outside: Annotated[str, typer.Option(help="Look-up outside the map: error or zero.")] = "error",
) -> None:
    """Evaluate an analytic dipole (.json) onto a grid, or check and copy a user's grid (.npz)."""
    from parkf.detector.field import make_field_map

    make_field_map(source, spacing=spacing, outside=outside).save(output)


@app.command()
def generate(
    output: Path,
    geometry: GeometryFile,
    events: Annotated[int, typer.Option(min=1, help="Bunch crossings.")],
    seed: Seed,
    pile_up: Annotated[float, typer.Option(help="Mean visible pp collisions a crossing.")] = 5.5,
    threads: Threads = 1,
) -> None:
    """Generate pp collisions with Pythia 8."""
    from parkf.detector.geometry import load_geometry
    from parkf.simulation.generator import generate as run

    print(f"generate: {events} events, seed {seed}", file=sys.stderr)
    run(output, events=events, seed=seed, pile_up=pile_up, workers=threads, beam=load_geometry(geometry).beam)


@app.command()
def simulate(
    particles: Path,
    geometry: GeometryFile,
    alignment: AlignmentFile,
    field: FieldFile,
    polarity: Polarity,
    seed: Seed,
    states: Annotated[Path | None, typer.Option(help="True states to write.")] = None,
    hits: Annotated[Path | None, typer.Option(help="Hits to write.")] = None,
    threads: Threads = 1,
) -> None:
    """Carry particles through field and material to true states, and to hits."""
    from parkf.detector.field import FieldMap
    from parkf.simulation.simulate import simulate as run

    run(
        particles,
        states,
        hits,
        geometry=_aligned(geometry, alignment),
        field=FieldMap.load(field),
        polarity=polarity,
        seed=seed,
        threads=threads,
    )


@app.command()
def candidates(
    hits: Path,
    output: Path,
    geometry: GeometryFile,
    alignment: AlignmentFile,
    field: FieldFile,
    polarity: Polarity,
    threads: Threads = 1,
) -> None:
    """Find track candidates in hits, as the trigger's pattern recognition hands them over."""
    from parkf.detector.field import FieldMap
    from parkf.simulation.pattern import find_candidates

    find_candidates(
        hits,
        output,
        geometry=_aligned(geometry, alignment),
        field=FieldMap.load(field),
        polarity=polarity,
        workers=threads,
    )


@app.command()
def datasets(
    folder: Path,
    particles: Annotated[str, typer.Option(help="Particle files, separated by blanks.")],
    states: Annotated[str, typer.Option(help="Files of true states, in the same order.")],
    geometry: GeometryFile,
    alignment: AlignmentFile,
    field: FieldFile,
    max_rows: Annotated[int, typer.Option(min=1000, help="Rows kept for each step.")] = 300_000,
    threads: Threads = 1,
) -> None:
    """Build the dataset of every step: true origin, true target, Runge-Kutta target."""
    from parkf.datasets.builder import build_step_datasets
    from parkf.detector.field import FieldMap

    build_step_datasets(
        [Path(name) for name in particles.split()],
        [Path(name) for name in states.split()],
        folder,
        geometry=_aligned(geometry, alignment),
        field=FieldMap.load(field),
        max_rows=max_rows,
        threads=threads,
    )


@app.command("check-dataset")
def check_dataset(
    step: str,
    dataset: Path,
    copy_to: Annotated[Path | None, typer.Option(help="Copy it here when it passes.")] = None,
) -> None:
    """Check a step dataset of your own: units, ranges, NaN, polarity, duplicates, coverage."""
    from parkf.datasets.checks import check_dataset as run
    from parkf.files import copy

    run(dataset, step)
    if copy_to is not None:
        copy(dataset, copy_to)


def _aligned(geometry: Path, alignment: Path):  # type: ignore[no-untyped-def]  # a lazily imported type
    from parkf.detector.alignment import load_alignment
    from parkf.detector.geometry import load_geometry

    return load_geometry(geometry).align(load_alignment(alignment))


def main() -> None:
    """Run the command line; a problem that users can solve is one message and exit code 1."""
    try:
        app()
    except ParkfError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
