"""Commands that find and fit track candidates."""

import sys
from pathlib import Path
from typing import Annotated

from typer import Argument, Option, Typer

from parkf.cli.commands import options
from parkf.cli.messages import written
from parkf.io.option_types import BackendChoice, Origin, Precision, Scheme, Segments
from parkf.io.terminal import say

app = Typer()


@app.command(
    epilog="Example: parkf candidates hits.parquet candidates.parquet --polarity 1"
    " --geometry data/geometry/run3.yaml --alignment data/geometry/alignment_nominal.yaml"
    " --field results/default/field.npz"
)
def candidates(
    hits: Annotated[Path, Argument(help="Hits (.parquet).")],
    output: Annotated[Path, Argument(help="Candidates to write (.parquet).")],
    geometry: options.GeometryFile,
    alignment: options.AlignmentFile,
    field: options.FieldFile,
    polarity: options.Polarity,
    segments: Annotated[Segments, Option(help="Find segments from hits alone, or use the truth.")] = "truth",
    matched: Annotated[bool, Option("--matched", help="No search: group hits by true particle.")] = False,
    kind: options.TrackKind = "long",
    threads: options.Threads = 1,
) -> None:
    """Find track candidates in hits, in the format of the trigger's pattern recognition."""
    from parkf.detector.field import load_field
    from parkf.detector.geometry import load_geometry
    from parkf.io.fingerprints.detector import detector_metadata
    from parkf.io.kinds import kind_named
    from parkf.simulation.pattern import find_candidates

    find_candidates(
        hits,
        output,
        geometry=load_geometry(geometry, alignment),
        field=load_field(field),
        polarity=polarity,
        workers=threads,
        segments=segments,
        matched=matched,
        kind=kind_named(kind),
        made_with=detector_metadata(geometry, alignment, field, polarity),
    )
    written(output)


@app.command(
    epilog="Example: parkf fit 2026-run3-like-2-r018 examples/candidates.parquet fitted.parquet --robust"
)
def fit(
    parameters: options.Set,
    candidates: options.Candidates,
    output: options.FittedTracks,
    scheme: Annotated[
        Scheme, Option(help="trigger: LHCb's arithmetic, for production's forms.")
    ] = "smoother",
    precision: Annotated[Precision, Option(help="Number type of the arithmetic.")] = "float32",
    backend: Annotated[BackendChoice, Option(help="auto: a GPU if there is one, else the CPU.")] = "cpu",
    threads: options.Threads = 1,
    rich_states: Annotated[
        bool, Option("--rich-states", help="Add states at z = 990, 2165, 9450 and 11900 mm.")
    ] = False,
    robust: Annotated[
        bool,
        Option(
            "--robust",
            help="Leave out UT hits that contradict the other hits, and enlarge the noise where a track"
            " scattered hard; adds columns with these changes and with χ² after them. `chi2_*` stays that of"
            " the plain fit.",
        ),
    ] = False,
    score: Annotated[
        bool,
        Option("--score", help="Add the ghost scores of the set."),
    ] = False,
    origin: Annotated[
        Origin, Option("--from", help="first-hit: tracks that are born behind the material around the beam.")
    ] = "vertex",
    kind: options.TrackKind = "long",
    electrons: Annotated[
        bool,
        Option(
            "--electrons", help="Take all candidates for electrons: q/p before they radiated, and columns."
        ),
    ] = False,
    trust: Annotated[
        bool, Option("--trust", help="Fit even if candidates and set are of different detectors.")
    ] = False,
    withdrawn: options.Withdrawn = False,
) -> None:
    """Fit track candidates with a parameter set."""
    from parkf.fit import fit_file
    from parkf.fit.gpu import choose_backend

    folder = options.registry_in(None).find(parameters)
    where, device = choose_backend(backend)
    say(f"fit: on {device}", file=sys.stderr)
    summary = fit_file(
        folder,
        candidates,
        output,
        scheme=scheme,
        precision=precision,
        backend=where,
        threads=threads,
        rich_states=rich_states,
        robust=robust,
        score=score,
        origin=origin,
        kind=kind,
        electrons=electrons,
        trust=trust,
        withdrawn=withdrawn,
    )
    summary.tell(candidates, output)


@app.command(
    "fit-full",
    epilog="Example: parkf fit-full examples/candidates.parquet full.parquet"
    " --geometry data/geometry/run3.yaml --alignment data/geometry/alignment_nominal.yaml"
    " --field results/default/field.npz",
)
def fit_full(
    candidates: options.Candidates,
    output: options.FittedTracks,
    geometry: options.GeometryFile,
    alignment: options.AlignmentFile,
    field: options.FieldFile,
    kind: options.TrackKind = "long",
    threads: options.Threads = 1,
) -> None:
    """Fit track candidates by Runge-Kutta through every layer of material, as a reference."""
    from parkf.detector.field import load_field
    from parkf.detector.geometry import load_geometry
    from parkf.fit import fit_file_full
    from parkf.io.kinds import kind_named

    summary = fit_file_full(
        candidates,
        output,
        geometry=load_geometry(geometry, alignment),
        field=load_field(field),
        kind=kind_named(kind),
        threads=threads,
    )
    summary.tell(candidates, output)
