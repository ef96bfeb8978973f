"""Commands that make a parameter set from true states, and close its magnet table on fits of tracks."""

import sys
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, BadParameter, Option, Typer

from parkf.cli.commands import options
from parkf.cli.messages import written
from parkf.io.errors import ParkfError
from parkf.io.files import copy, read_json, sha256, write_sealed
from parkf.io.option_types import Scheme
from parkf.io.terminal import say

app = Typer()

ClosedTable = Annotated[Path, Argument(help="The closed table.")]


@app.command("check-dataset", epilog="Example: parkf check-dataset UT ut.parquet")
def check_dataset(
    step: options.Step,
    dataset: options.Dataset,
    copy_to: Annotated[Path | None, Option(help="Copy the dataset here if it passes.")] = None,
) -> None:
    """Check a step dataset of your own: units, ranges, NaN, polarity, duplicates, coverage."""
    from parkf.training.datasets.checks import check_dataset as run

    rows = run(dataset, step)
    if copy_to is not None:
        copy(dataset, copy_to)
    say(f"{dataset}: {rows:,} rows of step {step}, all good")


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


@app.command("train-table")
def train_table(
    output: Annotated[Path, Argument(help="Magnet table to write (.npz).")],
    accuracy: Annotated[Path, Argument(help="Figures on independent rays to write (.json).")],
    geometry: options.GeometryFile,
    field: options.FieldFile,
    rays: Annotated[int, Option(min=1000, help="Number of rays through the magnet to fit.")],
    seed: options.Seed,
    forms: options.FormsOfSet = "improved",
    threads: options.Threads = 1,
) -> None:
    """Train the 240,000 numbers of the magnet table and measure them on independent rays."""
    from parkf.training.magnet_table.rays import Magnet
    from parkf.training.magnet_table.train import train_table as run

    say(f"train-table: forms {forms}, {rays} rays, seed {seed}", file=sys.stderr)
    nominal = options.aligned(geometry)
    magnet = Magnet(
        options.field_map(field), nominal.magnet.z_in, nominal.magnet.z_out, nominal.beam, threads
    )
    table, measured = run(magnet, forms=forms, rays=rays, seed=seed)
    table.save(output)
    write_sealed(accuracy, measured)
    written(output, accuracy)


@app.command()
def train(
    step: options.Step,
    dataset: Annotated[
        list[Path], Argument(help="Dataset of the step (.parquet); a part also takes chunks.")
    ],
    output: Annotated[Path, Argument(help="Fit to write (.json).")],
    forms: options.FormsOfSet = "improved",
    table: Annotated[Path | None, Option(help="Magnet table, for UTTF.")] = None,
    field: Annotated[Path | None, Option(help="Field map (.npz), for T of forms 'improved'.")] = None,
    geometry: Annotated[Path | None, Option(help="Geometry file (YAML), for the same.")] = None,
    seed: options.Seed = 0,
    start_from: Annotated[Path | None, Option(help="Start from a neighbour's run, set or fit file.")] = None,
    part: Annotated[str | None, Option(help="Fit only this part of the sets, such as 2-of-5.")] = None,
    threads: options.Threads = 1,
) -> None:
    """Fit the parameters of one step, then its scattering.

    T of forms 'improved' is also fitted to tracks that are born in the magnet. They are drawn with the seed
    and carried through the field.
    """
    from parkf.training.neighbour import neighbour
    from parkf.training.result import Part
    from parkf.training.train import train_part, train_step

    how: dict[str, Any] = {"forms": forms, "table": table, "workers": threads}
    how["neighbour"] = None if start_from is None else neighbour(start_from, step, forms)
    if (field is None) != (geometry is None):
        raise BadParameter("give both --field and --geometry, or neither")
    if field is not None and geometry is not None:
        from parkf.training.displaced import displaced_rows

        place = options.field_map(field), options.aligned(geometry)
        how["displaced"] = displaced_rows(*place, seed=seed, threads=threads)
    if part is None:
        if len(dataset) > 1:
            raise BadParameter("a whole step is fitted to one file; join chunks with `parkf gather-dataset`")
        train_step(dataset[0], step, **how).save(output)
    else:
        train_part(dataset, step, Part.parse(part), **how).save(output)
    written(output)


@app.command("join-fits")
def join_fits(
    parts: Annotated[list[Path], Argument(help="Files of `train --part`, for all parts of a step.")],
    output: Annotated[Path, Argument(help="Fit of the whole step to write (.json).")],
    dataset: Annotated[Path, Option(help="Dataset that the parts were fitted to.")],
    threads: options.Threads = 1,
) -> None:
    """Join the parts of a step's training."""
    from parkf.training.result import PartResult, join_parts

    join_parts([PartResult.load(part) for part in parts], dataset, workers=threads).save(output)
    written(output)


@app.command()
@options.grouped
def assemble(
    folder: Annotated[Path, Argument(help="Folder of the set to write.")],
    steps: options.TrainedSteps,
    inputs: Annotated[str | None, Option(help="More fingerprints of inputs for the manifest (JSON).")] = None,
    validity: Annotated[str | None, Option(help="Data that the set is for, as configured (JSON).")] = None,
    closure: Annotated[Path | None, Option(help="Folder with closed table and list of its inputs.")] = None,
    seeds: Annotated[str | None, Option(help="More seeds for the manifest (JSON).")] = None,
    score: Annotated[Path | None, Option(help="Ghost score, made by `train-score`.")] = None,
    rich: Annotated[Path | None, Option(help="RICH constants, made by `train-rich`.")] = None,
    slices: Annotated[Path | None, Option(help="Steps inside the magnet, made by `train-slices`.")] = None,
    electron: Annotated[Path | None, Option(help="What electrons radiate, made by `train-electron`.")] = None,
) -> None:
    """Make a parameter set from fits, magnet table and layers."""
    from parkf.params.validity import validity_of

    closed_with = {} if closure is None else read_json(closure / "closure.json")["inputs"]
    steps.assemble(
        closed=None if closure is None else closure / "table.npz",
        inputs={**closed_with, **options.mapping("--inputs", inputs)},
        seeds=options.mapping("--seeds", seeds),
        validity=None if validity is None else validity_of(options.mapping("--validity", validity)),
        score=score,
        rich=rich,
        slices=slices,
        electron=electron,
    ).save(folder)
    written(folder)


@app.command("train-slices")
def train_slices(
    output: Annotated[Path, Argument(help="Steps inside the magnet to write (.npz).")],
    accuracy: Annotated[Path, Argument(help="Figures on independent tracks to write (.json).")],
    geometry: options.GeometryFile,
    field: options.FieldFile,
    seed: options.Seed,
    threads: options.Threads = 1,
) -> None:
    """Train the steps inside the magnet, and measure them on independent tracks."""
    from parkf.training.slices import train_slices as run
    from parkf.training.slices_accuracy import measure_slices

    magnet, nominal = options.field_map(field), options.aligned(geometry)
    slices = run(magnet, nominal, seed=seed, threads=threads)
    slices.save(output)
    write_sealed(accuracy, measure_slices(slices, magnet, nominal, seed=seed, threads=threads))
    written(output, accuracy)


@app.command("train-electron")
@options.grouped
def train_electron(
    output: Annotated[Path, Argument(help="Numbers for electrons to write (.json).")],
    detector: options.Detector,
    seed: options.Seed,
    threads: options.Threads = 1,
) -> None:
    """Train what electrons radiate in front of the magnet, on simulated electrons."""
    from parkf.training.electron import train_electron as run

    geometry, field = detector.load()
    run(geometry, field, seed=seed, threads=threads).save(output)
    written(output)


@app.command("train-rich")
def train_rich(
    output: Annotated[Path, Argument(help="RICH constants to write (.json).")],
    velo: Annotated[Path, Option(help="Dataset of step VUT: its rows begin at the last VELO hit.")],
    ut: Annotated[Path, Option(help="Dataset of step UT, whose first set begins in the first layer.")],
    scifi: Annotated[Path, Option(help="Dataset of step T, whose last gap ends in the last layer.")],
    field: options.FieldFile,
    threads: options.Threads = 1,
) -> None:
    """Train the constants for states at the RICH planes."""
    from parkf.training.rich import train_rich as run

    run(velo, ut, scifi, options.field_map(field), threads=threads).save(output)
    written(output)


@app.command("train-score")
def train_score(
    parameters: options.SetFolder,
    output: Annotated[Path, Argument(help="Ghost score to write (.json).")],
    particles: Annotated[str, Option(help="Files of particles, separated by blanks.")],
    candidates: Annotated[str, Option(help="Files of their candidates, in the same order.")],
    seed: options.Seed,
    threads: options.Threads = 1,
) -> None:
    """Train the ghost score of a parameter set on candidates of the training sample."""
    from parkf.params.parameter_set import load
    from parkf.training.ghost_score.train import train_score as run

    files = options.file_pairs(particles, candidates)
    score = run(load(parameters), files, seed=seed, threads=threads)
    counts = f"{score.genuine} genuine candidates, {score.ghosts} ghosts"
    say(f"train-score: {counts}, seed {seed}", file=sys.stderr)
    score.save(output)
    written(output)


@app.command(epilog="Example: parkf accuracy results/default/set")
def accuracy(
    parameters: Annotated[Path, Argument(metavar="SET", help="Set of a run: results/<run>/set.")],
    output: Annotated[Path | None, Option(help="Also write accuracy.json here.")] = None,
    beside: Annotated[Path | None, Option(help="accuracy.json of other forms, for comparison.")] = None,
    threads: options.Threads = 1,
) -> None:
    """Compare every step and the table of a run's set with Runge-Kutta, in momentum bins."""
    from parkf.params.parameter_set import load
    from parkf.training.accuracy import measure_accuracy
    from parkf.training.accuracy_table import accuracy_table
    from parkf.training.assembly import CLOSED_TABLE, check_made_of

    run = parameters.parent
    fits, table = run / "fits", run / "table/table.npz"
    if not fits.is_dir():
        raise ParkfError(f"{parameters}: no fits in {run}; expected the set of a run, results/<run>/set")
    # The steps are measured with the table that they were fitted with; the table's own figures are those of
    # the set's table.
    used = run / "closure/table.npz" if CLOSED_TABLE in load(parameters).manifest.inputs else table
    blobs = check_made_of(parameters, fits, used)
    field = options.field_map(run / "field.npz")
    of_table = used.with_name("accuracy.json")
    measured = measure_accuracy(fits, run / "datasets", table, of_table, field, threads=threads)
    if output is not None:
        write_sealed(output, {**measured, "set": blobs.fingerprints()})
    say(accuracy_table(measured, read_json(beside) if beside else None))


@app.command("closure-tracks")
@options.grouped
def closure_tracks(
    output: Annotated[Path, Argument(help="Tracks and their full fits to write (.parquet).")],
    detector: options.Detector,
    polarity: options.Polarity,
    tracks: Annotated[int, Option(min=1, help="Particles to start; half of them leave a track.")],
    seed: options.Seed,
    threads: options.Threads = 1,
) -> None:
    """Simulate tracks that are spread over the magnet table, and make their full fits."""
    from parkf.training.closure.sample import simulate_sample

    geometry, field = detector.load()
    count = simulate_sample(
        output, tracks=tracks, seed=seed, polarity=polarity, geometry=geometry, field=field, threads=threads
    )
    say(f"closure-tracks: {count} tracks of {tracks} particles, seed {seed}", file=sys.stderr)


@app.command()
@options.grouped
def close(
    output: ClosedTable,
    accuracy: Annotated[Path, Argument(help="Accuracy of the closed table against its targets (JSON).")],
    summary: Annotated[Path, Argument(help="Results of each stage (JSON).")],
    samples: Annotated[list[Path], Argument(help="Files of `closure-tracks`, of all polarities.")],
    steps: options.TrainedSteps,
    table_accuracy: Annotated[Path, Option(help="Figures of the table before the closure (JSON).")],
    rays: Annotated[int, Option(min=1000, help="Number of rays to extrapolate through the SciFi.")],
    passes: Annotated[int, Option(min=0, help="Number of passes over the fits of the tracks.")],
    scheme: Annotated[Scheme, Option(help="The fit that will use the set.")] = "smoother",
    threads: options.Threads = 1,
) -> None:
    """Change the table's bend so that fits of tracks have no bias in any direction."""
    from parkf.training.closure.close import close as run

    geometry, field = steps.load()
    closed = run(
        steps.assemble(),
        samples,
        geometry=geometry,
        field=field,
        rays=rays,
        passes=passes,
        seed=steps.seed,
        scheme=scheme,
        threads=threads,
    )
    closed.table.save(output)
    write_sealed(accuracy, {**closed.accuracy, "before": read_json(table_accuracy)})
    inputs = {f"closure tracks {path.stem}": sha256(path) for path in samples}
    write_sealed(summary, {**closed.summary, "inputs": inputs})
    written(output, accuracy, summary)


@app.command("take-closure")
@options.grouped
def take_closure(
    output: ClosedTable,
    accuracy: Annotated[Path, Argument(help="Accuracy of the neighbour's table (JSON).")],
    summary: Annotated[Path, Argument(help="Results of each of the neighbour's stages (JSON).")],
    neighbour: Annotated[Path, Option(help="Another run's folder `closure`.")],
    steps: options.TrainedSteps,
) -> None:
    """Use the closed table of a run whose alignment is a little different."""
    from parkf.params.configuration import NEIGHBOURS_TABLE
    from parkf.training.closure.close import neighbours_table

    theirs = neighbour / "table.npz"
    neighbours_table(steps.assemble(), theirs).save(output)
    write_sealed(accuracy, read_json(neighbour / accuracy.name))
    stages = read_json(neighbour / summary.name)
    write_sealed(summary, {**stages, "inputs": {NEIGHBOURS_TABLE: sha256(theirs)}})
    written(output, accuracy, summary)
