"""Commands that make samples (field, collisions, hits, track candidates) and their step datasets."""

import sys
from pathlib import Path
from typing import Annotated

from typer import Argument, Option, Typer

from parkf.cli.commands import options
from parkf.cli.messages import written
from parkf.io.option_types import Segments, Signal
from parkf.io.terminal import say

app = Typer()

Samples = Annotated[str, Option("--samples", help="Names of the samples, separated by blanks.")]
Chunks = Annotated[int, Option("--chunks", min=1, help="Number of chunks of each sample.")]
MaxRows = Annotated[int, Option("--max-rows", min=1000, help="Number of rows to keep for each step.")]


@app.command(epilog="Example: parkf field data/field/dipole.json field.npz --spacing 50")
def field(
    source: Annotated[Path, Argument(help="Dipole (.json), or grid (.npz).")],
    output: Annotated[Path, Argument(help="Field map to write (.npz).")],
    spacing: Annotated[float, Option(help="Grid spacing [mm], for analytic sources.")] = 100.0,
    outside: options.OutsideMap = "error",
    interpolation: options.Between = "linear",
) -> None:
    """Evaluate an analytic dipole (.json) onto a grid, or check and copy a user's grid (.npz)."""
    from parkf.detector.field import make_field_map

    make_field_map(source, spacing=spacing, outside=outside, interpolation=interpolation).save(output)
    written(output)


@app.command()
def generate(
    output: Annotated[Path, Argument(help="Particles to write (.parquet).")],
    geometry: options.GeometryFile,
    events: Annotated[int, Option(min=1, help="Number of bunch crossings.")],
    seed: options.Seed,
    pile_up: Annotated[
        float,
        Option(min=0, max=200, callback=options.finite, help="Mean inelastic pp collisions a crossing."),
    ] = 5.5,
    first: Annotated[int, Option(min=0, help="Number of the first crossing, a multiple of 50.")] = 0,
    beside: Annotated[
        tuple[Path, int] | None,
        Option(metavar="OUTPUT SEED", help="Write a second sample of the same size, by the same Pythia."),
    ] = None,
    threads: options.Threads = 1,
) -> None:
    """Generate pp collisions with Pythia 8."""
    from parkf.simulation.generate.collisions import generate as run

    beam = options.aligned(geometry).beam
    for path, own_seed in [(output, seed), *([] if beside is None else [beside])]:
        say(f"generate: {events} events from {first} on, seed {own_seed}", file=sys.stderr)
        run(path, beam=beam, events=events, seed=own_seed, pile_up=pile_up, first=first, workers=threads)


@app.command("generate-signal")
def generate_signal(
    output: Annotated[Path, Argument(help="Particles to write (.parquet).")],
    signal: Annotated[
        Signal,
        Option(
            help="J/psi to two muons or electrons, D0 to K pi, photons to e e, K0s to pi pi, Lambda to p pi."
        ),
    ],
    geometry: options.GeometryFile,
    collisions: Annotated[int, Option(min=1, help="Collisions; one in eight has a pair of tracks.")],
    seed: options.Seed,
    first: Annotated[int, Option(min=0, help="Number of the first collision, a multiple of 2000.")] = 0,
    threads: options.Threads = 1,
) -> None:
    """Generate the two tracks of a mass peak with Pythia 8."""
    from parkf.simulation.generate.signal import generate_signal as run

    beam = options.aligned(geometry).beam
    pairs = run(output, signal=signal, beam=beam, number=collisions, seed=seed, first=first, workers=threads)
    say(f"generate-signal: {pairs} pairs, seed {seed}", file=sys.stderr)


@app.command()
@options.grouped
def simulate(
    particles: options.Particles,
    detector: options.Detector,
    polarity: options.Polarity,
    seed: options.Seed,
    states: Annotated[Path | None, Option(help="True states to write.")] = None,
    hits: Annotated[Path | None, Option(help="Hits to write.")] = None,
    fates: Annotated[Path | None, Option(help="Fates to write: each particle's hardest scattering.")] = None,
    crossings: Annotated[Path | None, Option(help="True states in first layers of UT, SciFi.")] = None,
    hits_before: Annotated[int | None, Option(min=0, help="Hits and fates only below this crossing.")] = None,
    crowded: Annotated[bool, Option("--crowded", help="Hits with LHCb's tails, overlaps, density.")] = False,
    threads: options.Threads = 1,
) -> None:
    """Transport particles through field and material, and write their true states and hits."""
    from parkf.simulation.response.simulate import simulate as run

    say(f"simulate: seed {seed}", file=sys.stderr)
    geometry, field = detector.load()
    run(
        particles,
        states,
        hits,
        fates,
        crossings,
        geometry=geometry,
        field=field,
        polarity=polarity,
        seed=seed,
        hits_before=hits_before,
        crowded=crowded,
        threads=threads,
    )
    written(states, hits, fates, crossings)


@app.command()
def misalign(
    hits: options.Hits,
    output: Annotated[Path, Argument(help="Displaced hits to write (.parquet).")],
    scifi_module: Annotated[
        float, Option(min=0, max=5, callback=options.finite, help="Width of the modules' shifts in x [mm].")
    ],
    scifi_mat: Annotated[
        float, Option(min=0, max=5, callback=options.finite, help="Width of mats' own shifts [mm].")
    ],
    seed: options.Seed,
) -> None:
    """Displace SciFi mats in the hits, unknown to the reconstruction."""
    from parkf.simulation.response.misalignment import misalign_scifi

    misalign_scifi(hits, output, module=scifi_module, mat=scifi_mat, seed=seed)
    written(output)


@app.command()
@options.grouped
def candidates(
    hits: options.Hits,
    output: Annotated[Path, Argument(help="Candidates to write (.parquet).")],
    detector: options.Detector,
    polarity: options.Polarity,
    segments: Annotated[Segments, Option(help="Find segments from hits alone, or use the truth.")] = "truth",
    matched: Annotated[bool, Option("--matched", help="No search: group hits by true particle.")] = False,
    kind: options.TrackKind = "long",
    threads: options.Threads = 1,
) -> None:
    """Find track candidates in hits, in the format of the trigger's pattern recognition."""
    from parkf.io.kinds import kind_named
    from parkf.simulation.pattern import find_candidates

    geometry, field = detector.load()
    find_candidates(
        hits,
        output,
        geometry=geometry,
        field=field,
        polarity=polarity,
        workers=threads,
        segments=segments,
        matched=matched,
        kind=kind_named(kind),
        made_with=detector.metadata(polarity),
    )
    written(output)


@app.command()
def draw(
    particles: options.Particles,
    states: options.States,
    output: Annotated[Path, Argument(help="Smallest random numbers to write (.npz).")],
    geometry: options.GeometryFile,
    alignment: options.AlignmentFile,
    max_rows: MaxRows = 300_000,
) -> None:
    """Draw a random number for every row of a sample's datasets, and write the smallest."""
    from parkf.training.datasets.lottery import draw as run

    run(particles, states, output, beam=options.aligned(geometry, alignment).beam, max_rows=max_rows)
    written(output)


@app.command()
def thresholds(
    folder: Annotated[Path, Argument(help="Folder with the files of `draw`, by chunk.")],
    output: Annotated[Path, Argument(help="Thresholds to write (.json).")],
    samples: Samples,
    chunks: Chunks = 1,
    max_rows: MaxRows = 300_000,
) -> None:
    """Find the random numbers below which rows are kept, from the draws of all samples."""
    from parkf.training.datasets.lottery import find_thresholds
    from parkf.workflow.chunks import chunk_files

    draws = chunk_files([folder / sample for sample in samples.split()], chunks, ".npz")
    find_thresholds(draws, output, max_rows=max_rows)
    written(output)


@app.command()
@options.grouped
def datasets(
    particles: options.Particles,
    states: options.States,
    folder: Annotated[Path, Argument(help="Folder for <step>.parquet of every step.")],
    thresholds: Annotated[Path, Option(help="File of `thresholds`, which decides the rows to keep.")],
    detector: options.Detector,
    threads: options.Threads = 1,
) -> None:
    """Build a sample's rows for every step: true origin, true target, Runge-Kutta target."""
    from parkf.training.datasets.builder import build_rows

    geometry, field = detector.load()
    build_rows(particles, states, thresholds, folder, beam=geometry.beam, field=field, threads=threads)
    written(folder)


@app.command("gather-dataset")
def gather_dataset(
    step: options.Step,
    folder: Annotated[Path, Argument(help="Output of `datasets`, a folder for each chunk.")],
    output: Annotated[Path, Argument(help="Dataset to write (.parquet).")],
    samples: Samples,
    chunks: Chunks = 1,
    threads: options.Threads = 1,
) -> None:
    """Join the rows of a step, set by set."""
    from parkf.training.datasets.gather import gather_rows
    from parkf.workflow.chunks import chunk_files

    parts = chunk_files([folder / sample for sample in samples.split()], chunks, f"/{step}.parquet")
    gather_rows(parts, output, step, threads=threads)
    written(output)


@app.command()
def gather(
    sample: Annotated[Path, Argument(help="Folder with <number>-of-<chunks>.parquet.")],
    output: Annotated[Path, Argument(help="Table to write (.parquet).")],
    chunks: Chunks,
) -> None:
    """Join the chunks of a sample in one file."""
    from parkf.io.tables import gather as run
    from parkf.workflow.chunks import chunk_files

    run(chunk_files([sample], chunks, ".parquet"), output)
    written(output)
