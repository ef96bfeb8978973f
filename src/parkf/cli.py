"""The command line: one command for each stage, on files. Imports wait until their command runs."""

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from parkf.choices import Backend, FormsName, Interpolation, Outside, Precision, Scheme, Signal
from parkf.errors import ParkfError
from parkf.params_commands import app as params
from parkf.params_commands import gate
from parkf.params_commands.gates import GATES, GatesFile

app = typer.Typer(
    help="Train, prove and publish the parameters of LHCb's Parameterised Kalman Filter.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(params, name="params")
app.command()(gate)

importer = typer.Typer(help="Take over what others made.", no_args_is_help=True)
app.add_typer(importer, name="import")

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
    outside: Annotated[Outside, typer.Option(help="Look-up outside the map.")] = "error",
    interpolation: Annotated[Interpolation, typer.Option(help="Between the nodes.")] = "linear",
) -> None:
    """Evaluate an analytic dipole (.json) onto a grid, or check and copy a user's grid (.npz)."""
    from parkf.detector.field import make_field_map

    make_field_map(source, spacing=spacing, outside=outside, interpolation=interpolation).save(output)


@app.command()
def generate(
    output: Path,
    geometry: GeometryFile,
    events: Annotated[int, typer.Option(min=1, help="Bunch crossings.")],
    seed: Seed,
    pile_up: Annotated[float, typer.Option(help="Mean inelastic pp collisions a crossing.")] = 5.5,
    threads: Threads = 1,
) -> None:
    """Generate pp collisions with Pythia 8."""
    from parkf.detector.geometry import load_geometry
    from parkf.simulation.generator import generate as run

    print(f"generate: {events} events, seed {seed}", file=sys.stderr)
    run(output, events=events, seed=seed, pile_up=pile_up, workers=threads, beam=load_geometry(geometry).beam)


@app.command("generate-signal")
def generate_signal(
    output: Path,
    signal: Annotated[Signal, typer.Option(help="J/psi to two muons, or D0 to K pi.")],
    geometry: GeometryFile,
    collisions: Annotated[int, typer.Option(min=1, help="One in eight gives a pair of tracks.")],
    seed: Seed,
    threads: Threads = 1,
) -> None:
    """Generate the two tracks of a mass peak with Pythia 8."""
    from parkf.detector.geometry import load_geometry
    from parkf.simulation.signal import generate_signal as run

    beam = load_geometry(geometry).beam
    pairs = run(output, signal=signal, beam=beam, number=collisions, seed=seed, workers=threads)
    print(f"generate-signal: {pairs} pairs, seed {seed}", file=sys.stderr)


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

    print(f"simulate: seed {seed}", file=sys.stderr)
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
def misalign(
    hits: Path,
    output: Path,
    scifi_module: Annotated[float, typer.Option(min=0, help="Width of the modules' shifts in x [mm].")],
    scifi_mat: Annotated[float, typer.Option(min=0, help="Width of the mats' own shifts [mm].")],
    seed: Seed,
) -> None:
    """Displace SciFi mats without telling the reconstruction."""
    from parkf.simulation.misalignment import misalign_scifi

    misalign_scifi(hits, output, module=scifi_module, mat=scifi_mat, seed=seed)


@app.command()
def candidates(
    hits: Path,
    output: Path,
    geometry: GeometryFile,
    alignment: AlignmentFile,
    field: FieldFile,
    polarity: Polarity,
    matched: Annotated[
        bool, typer.Option("--matched", help="No search: what each particle left behind, by truth.")
    ] = False,
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
        matched=matched,
    )


@importer.command("hits")
def import_hits(
    hits: Annotated[Path, typer.Argument(help="Hits of another simulation (Parquet).")],
    tracks: Annotated[Path, typer.Argument(help="Its particles (Parquet).")],
    hits_to: Annotated[Path, typer.Option("--hits", help="Hits to write.")],
    particles_to: Annotated[Path, typer.Option("--particles", help="Particles to write.")],
) -> None:
    """Take over hits and particles of another simulation, LHCb's for one."""
    from parkf.simulation.foreign import import_hits as run

    run(hits, tracks, hits_to=hits_to, particles_to=particles_to)


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


@app.command()
def kernel() -> None:
    """Check that the installed kernel was compiled from today's formulas."""
    from parkf import _fitter
    from parkf.steps import FORMS

    if _fitter.formulas != {name: forms.hash() for name, forms in FORMS.items()}:
        raise ParkfError("the compiled kernel is older than the formulas in parkf.steps; run `make build`")


@app.command("train-table")
def train_table(
    output: Path,
    accuracy: Path,
    geometry: GeometryFile,
    field: FieldFile,
    rays: Annotated[int, typer.Option(min=1000, help="Rays through the magnet to fit.")],
    seed: Seed,
    forms: Annotated[FormsName, typer.Option(help="Set of forms.")] = "improved",
    threads: Threads = 1,
) -> None:
    """Train the 240,000 numbers of the magnet table and measure them on independent rays."""
    from parkf.detector.field import FieldMap
    from parkf.detector.geometry import load_geometry
    from parkf.files import write_json
    from parkf.training.magnet_table import train_table as run

    print(f"train-table: forms {forms}, {rays} rays, seed {seed}", file=sys.stderr)
    nominal = load_geometry(geometry)
    table, measured = run(
        FieldMap.load(field),
        z_in=nominal.z_in,
        z_out=nominal.z_out,
        beam=nominal.beam,
        forms=forms,
        rays=rays,
        seed=seed,
        threads=threads,
    )
    table.save(output)
    write_json(accuracy, measured)


@app.command()
def train(
    step: str,
    dataset: Path,
    output: Path,
    forms: Annotated[FormsName, typer.Option(help="Set of forms.")] = "improved",
    table: Annotated[Path | None, typer.Option(help="Magnet table, for UTTF.")] = None,
) -> None:
    """Fit p, then the scattering, of one step."""
    from parkf.training import train_step

    train_step(dataset, step, forms=forms, table=table).save(output)


@app.command()
def assemble(
    folder: Path,
    fits: Annotated[Path, typer.Option(help="Folder of the fits of all steps.")],
    table: Annotated[Path, typer.Option(help="Magnet table.")],
    geometry: GeometryFile,
    alignment: AlignmentFile,
    field: FieldFile,
    seed: Seed,
    configuration: Annotated[
        str | None, typer.Option(help="Keys of the run's configuration, as JSON, for the manifest.")
    ] = None,
    inputs: Annotated[
        str | None, typer.Option(help="Further fingerprints of what went in, as JSON, for the manifest.")
    ] = None,
) -> None:
    """Put fits, table and layers together into a parameter set."""
    from parkf.parameters import assemble as run

    run(
        fits,
        table,
        geometry=geometry,
        alignment=alignment,
        field=field,
        seed=seed,
        configuration=None if configuration is None else json.loads(configuration),
        inputs={} if inputs is None else json.loads(inputs),
    ).save(folder)


@app.command()
def accuracy(
    output: Path,
    fits: Annotated[Path, typer.Option(help="Folder of the fits of all steps.")],
    datasets: Annotated[Path, typer.Option(help="Folder of the step datasets.")],
    table: Annotated[Path, typer.Option(help="Magnet table.")],
    table_accuracy: Annotated[Path, typer.Option(help="Accuracy of the magnet table.")],
    parameters: Annotated[Path, typer.Option("--set", help="Folder of the set made of fits and table.")],
    field: Annotated[Path, typer.Option(help="Field map (.npz).")],
    beside: Annotated[
        Path | None, typer.Option(help="accuracy.json of other forms, to print in the same table.")
    ] = None,
) -> None:
    """Compare every step and the table with Runge-Kutta, in momentum bins."""
    from parkf.detector.field import FieldMap
    from parkf.files import read_json, write_json
    from parkf.parameters.assembly import check_made_of
    from parkf.training.accuracy import measure_accuracy
    from parkf.training.accuracy_table import accuracy_table

    blobs = check_made_of(parameters, fits, table)
    measured = measure_accuracy(fits, datasets, table, table_accuracy, FieldMap.load(field))
    write_json(output, {**measured, "set": blobs.fingerprints()})
    print(accuracy_table(measured, read_json(beside) if beside else None))


@app.command()
def fit(
    parameters: Annotated[str, typer.Argument(metavar="SET", help="Published version, or a set's folder.")],
    candidates: Path,
    output: Path,
    scheme: Annotated[
        Scheme, typer.Option(help="The default, the paper's forward_backward, or velo_only.")
    ] = "smoother",
    precision: Annotated[Precision, typer.Option()] = "float32",
    backend: Annotated[Backend, typer.Option()] = "cpu",
    threads: Threads = 1,
    outliers: Annotated[
        float | None,
        typer.Option(min=0, help="Fit without hits whose u² is above this (16 is usual); adds `removed`."),
    ] = None,
    rich_states: Annotated[
        bool, typer.Option("--rich-states", help="Add states at z = 990, 2165, 9450 and 11900 mm.")
    ] = False,
) -> None:
    """Fit track candidates with a parameter set."""
    from parkf.kalman import fit_file
    from parkf.parameters.registry import readable_registry

    registry = readable_registry()
    folder = registry.find(parameters)
    if folder.parent == registry.folder and (withdrawal := registry.withdrawal(folder.name)):
        print(f"warning: {folder} was withdrawn: {withdrawal.reason}", file=sys.stderr)
    count = fit_file(
        folder,
        candidates,
        output,
        scheme=scheme,
        precision=precision,
        backend=backend,
        threads=threads,
        outliers=outliers,
        rich_states=rich_states,
    )
    print(f"{output}: {count} candidates fitted", file=sys.stderr)


@app.command("fit-full")
def fit_full(
    candidates: Path,
    output: Path,
    geometry: GeometryFile,
    alignment: AlignmentFile,
    field: FieldFile,
    threads: Threads = 1,
) -> None:
    """Fit track candidates with Runge-Kutta and every layer of material: the reference."""
    from parkf.detector.field import FieldMap
    from parkf.kalman import fit_file_full

    count = fit_file_full(
        candidates,
        output,
        geometry=_aligned(geometry, alignment),
        field=FieldMap.load(field),
        threads=threads,
    )
    print(f"{output}: {count} candidates fitted", file=sys.stderr)


@app.command()
def validate(
    results: Annotated[Path, typer.Argument(help="Folder of a run.")],
    output: Path,
    samples: Annotated[str, typer.Option(help="Names of the samples, separated by blanks.")],
    fits: Annotated[str, typer.Option(help="Names of the fits, separated by blanks.")],
    misaligned: Annotated[str, typer.Option(help="The same from a misaligned detector; may be empty.")] = "",
    signals: Annotated[str, typer.Option(help="Samples of mass peaks, <signal>_<polarity>.")] = "",
) -> None:
    """Measure fitted candidates against the truth."""
    from parkf.files import write_json
    from parkf.kalman.fitted import common_set
    from parkf.validation.sample import Files, Sample, load_sample
    from parkf.validation.validate import validate as run

    def load(names: str, fits: str = fits) -> dict[str, Sample]:
        files = {
            fit: [
                Files(
                    # A misaligned detector sees the particles of the other.
                    results / f"particles/{sample.replace('misaligned', 'validation')}.parquet",
                    results / f"candidates/{sample}.parquet",
                    results / f"fitted/{fit}/{sample}.parquet",
                )
                for sample in names.split()
            ]
            for fit in fits.split()
        }
        return {fit: load_sample(several) for fit, several in files.items() if several}

    peaks: dict[str, list[str]] = {}
    for name in signals.split():
        peaks.setdefault(name.rpartition("_")[0], []).append(name)
    measured = run(
        load(samples),
        load(samples, "parkf_float64")["parkf_float64"],
        load(misaligned),
        {signal: load(" ".join(names)) for signal, names in peaks.items()},
    )
    # Gates hold figures against a set only when they are of that very set.
    measured["set"] = common_set(
        results / f"fitted/{fit}/{sample}.parquet"
        for fit in fits.split()
        for sample in f"{samples} {misaligned} {signals}".split()
    )
    write_json(output, measured)


@app.command()
def measure(
    particles: Path,
    candidates: Path,
    fitted: Path,
    output: Path,
) -> None:
    """Measure resolution, pulls and χ² of one sample, to compare it with another."""
    from parkf.files import write_json
    from parkf.validation.measure import measure as run
    from parkf.validation.sample import Files, load_sample

    write_json(output, run(load_sample([Files(particles, candidates, fitted)])))


@app.command()
def characterise(
    hits: Path,
    particles: Path,
    matched: Annotated[Path, typer.Argument(help="Candidates by truth.")],
    found: Annotated[Path, typer.Argument(help="Candidates of the search.")],
    output: Path,
    geometry: GeometryFile,
    alignment: AlignmentFile,
    field: FieldFile,
    polarity: Polarity,
) -> None:
    """Describe a simulated sample in figures that compare with another's."""
    from parkf.detector.field import FieldMap
    from parkf.files import write_json
    from parkf.validation.likeness import Files
    from parkf.validation.likeness import characterise as run

    files = Files(hits, particles, matched, found)
    aligned = _aligned(geometry, alignment)
    write_json(output, run(files, geometry=aligned, field=FieldMap.load(field), polarity=polarity))


@app.command()
def likeness(
    embedded: Annotated[Path, typer.Argument(help="Of the embedded simulation, by `characterise`.")],
    other: Annotated[Path, typer.Argument(help="Of the other, LHCb's.")],
    output: Path,
    measured: Annotated[
        str,
        typer.Option(help="<fit>=<embedded>,<other> by `measure`, separated by blanks; may be empty."),
    ] = "",
) -> None:
    """Write the page that lays the embedded simulation beside another."""
    from parkf.report.likeness import write_likeness

    pairs = {}
    for entry in measured.split():
        name, _, files = entry.partition("=")
        one, _, two = files.partition(",")
        pairs[name] = (Path(one), Path(two))
    write_likeness(embedded, other, pairs, output)


@app.command()
def stages(benchmarks: Path, output: Path) -> None:
    """Collect wall time and peak memory of every stage."""
    from parkf.files import write_json
    from parkf.report.stages import collect_stages

    write_json(output, collect_stages(benchmarks))


@app.command()
def report(
    results: Annotated[Path, typer.Argument(help="Folder of a run.")],
    output: Path,
    gates: GatesFile = GATES,
) -> None:
    """Write the pages of a run."""
    from parkf.gates import load_thresholds
    from parkf.report.pages import write_report

    write_report(results, output, load_thresholds(gates))


@app.command()
def explain(
    parameters: Annotated[Path, typer.Argument(help="Folder of a parameter set.")],
    fits: Annotated[Path | None, typer.Option(help="Folder of the fits, for the errors.")] = None,
    table: Annotated[bool, typer.Option("--table", help="The 240,000 numbers of the magnet too.")] = False,
) -> None:
    """Print every number of a set: block, set, index, name, value, unit, error."""
    from parkf.parameters import COLUMNS
    from parkf.parameters import explain as rows

    print("\t".join(COLUMNS))
    for row in rows(parameters, fits=fits, table=table):
        cells = ("" if cell is None else f"{cell:.9g}" if isinstance(cell, float) else cell for cell in row)
        print("\t".join(map(str, cells)))


@app.command()
def where(
    results: Annotated[Path, typer.Argument(help="Folder of a run.")], gates: GatesFile = GATES
) -> None:
    """Say where the outcome of a run lies, and its main figures."""
    from parkf.gates import load_thresholds
    from parkf.report.summary import summary

    print(summary(results, load_thresholds(gates)))


def _aligned(geometry: Path, alignment: Path):  # type: ignore[no-untyped-def]  # a lazily imported type
    from parkf.detector.alignment import load_alignment
    from parkf.detector.geometry import load_geometry

    return load_geometry(geometry).align(load_alignment(alignment))


def main() -> None:
    """Run the command line; a problem that users can solve is one message and exit code 1."""
    # Sums in another order give other last bits: linear algebra stays on one core, whatever a scheduler says.
    os.environ.update({f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "MKL", "OMP")})
    try:
        app()
    except ParkfError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
