"""Commands that fit track candidates."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from parkf.cli.commands.options import Detector, Set, Threads, finite, grouped, registry_in
from parkf.io.option_types import BackendChoice, Precision, Scheme

app = typer.Typer()


@app.command()
def fit(
    parameters: Set,
    candidates: Path,
    output: Path,
    scheme: Annotated[
        Scheme,
        typer.Option(help="smoother; trigger, LHCb's own arithmetic, for production's forms; or velo_only."),
    ] = "smoother",
    precision: Annotated[Precision, typer.Option()] = "float32",
    backend: Annotated[BackendChoice, typer.Option(help="auto: a GPU where there is one.")] = "cpu",
    threads: Threads = 1,
    outliers: Annotated[
        float | None,
        typer.Option(
            min=0,
            callback=finite,
            help="Fit without hits whose u² is above this (16 is usual); adds `removed`.",
        ),
    ] = None,
    rich_states: Annotated[
        bool, typer.Option("--rich-states", help="Add states at z = 990, 2165, 9450 and 11900 mm.")
    ] = False,
    robust: Annotated[
        bool,
        typer.Option(
            "--robust",
            help="Take out UT hits that the rest contradicts, enlarge the noise where a track scattered hard;"
            " adds what was done, and χ² before.",
        ),
    ] = False,
    score: Annotated[
        bool, typer.Option("--score", help="Add the ghost scores, if the set has them.")
    ] = False,
) -> None:
    """Fit track candidates with a parameter set."""
    from parkf.fit import fit_file
    from parkf.fit.gpu import choose_backend

    registry = registry_in(None)
    folder = registry.find(parameters)
    if folder.parent == registry.folder and (withdrawal := registry.withdrawal(folder.name)):
        print(f"warning: {folder} was withdrawn: {withdrawal.reason}", file=sys.stderr)
    # The reference fit of VELO hits alone runs in NumPy.
    where, device = choose_backend("cpu" if scheme == "velo_only" else backend)
    print(f"fit: on {device}", file=sys.stderr)
    summary = fit_file(
        folder,
        candidates,
        output,
        scheme=scheme,
        precision=precision,
        backend=where,
        threads=threads,
        outliers=outliers,
        rich_states=rich_states,
        robust=robust,
        score=score,
    )
    print(f"{output}: {summary.count} candidates fitted", *summary.lines(), sep="\n", file=sys.stderr)


@app.command("fit-full")
@grouped
def fit_full(
    candidates: Path,
    output: Path,
    detector: Detector,
    threads: Threads = 1,
) -> None:
    """Fit track candidates with Runge-Kutta and every layer of material: the reference."""
    from parkf.fit import fit_file_full

    summary = fit_file_full(
        candidates, output, geometry=detector.aligned(), field=detector.field_map(), threads=threads
    )
    print(f"{output}: {summary.count} candidates fitted", *summary.lines(), sep="\n", file=sys.stderr)
