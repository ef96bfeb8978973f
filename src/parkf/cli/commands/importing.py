"""Commands that import, export and check files of other programs and of users, and that draw geometries."""

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

from typer import Argument, Option, Typer

from parkf.cli.commands.options import (
    AlignmentFile,
    Between,
    FieldFile,
    GeometryFile,
    Json,
    OutsideMap,
    Share,
    Threads,
    numbers_by_name,
)
from parkf.cli.messages import written
from parkf.io.errors import ParkfError
from parkf.io.project import found
from parkf.io.terminal import say

app = Typer()
importer = Typer(
    help="Import files of other programs.", no_args_is_help=True, epilog="Example: parkf import field --help"
)
exporter = Typer(
    help="Export to formats of other programs.",
    no_args_is_help=True,
    epilog="Example: parkf export alignment --help",
)
geometries = Typer(
    help="Draw a geometry, or check it.",
    no_args_is_help=True,
    epilog="Example: parkf geometry check data/geometry/run3.yaml",
)

BASE = Path("data/geometry/run3.yaml")
DIPOLE = Path("data/field/dipole.json")
GeometryArgument = Annotated[Path, Argument(help="Geometry file (YAML).")]
AlignmentOption = Annotated[Path | None, Option("--alignment", help="Alignment file of the geometry.")]


Trust = Annotated[bool, Option("--trust", help="Import even if physics checks fail.")]
# Of imported files, whose detector may not be known.
PolarityOption = Annotated[str | None, Option("--polarity", help="Polarity: up or down.")]
GeometryOption = Annotated[Path | None, Option("--geometry", help="Geometry file (YAML), with the planes.")]


@importer.command("field", epilog="Example: parkf import field 'LHCb.*.cdf' field.npz --polarity down")
def import_field(
    source: Annotated[str, Argument(help="The map's file; for .cdf, a quoted pattern of its four files.")],
    output: Annotated[Path, Argument(help="Map to write (.npz).")],
    trust: Trust = False,
    as_json: Json = False,
    length: Annotated[str | None, Option(help="Unit of x, y, z: mm, cm, m.")] = None,
    unit: Annotated[str | None, Option(help="Unit of the field: T, kG, G, Gaudi.")] = None,
    polarity: Annotated[str, Option(help="Polarity of the map: up or down.")] = "down",
    outside: OutsideMap = "error",
    interpolation: Between = "linear",
    dipole: Annotated[Path, Option(callback=found, help="Field to compare with (.json).")] = DIPOLE,
) -> None:
    """Import a field map: LHCb's .cdf, Allen's magfield.bin, or CSV."""
    from parkf.detector.dipole import DipoleSources
    from parkf.imports.columns import sign_of
    from parkf.imports.field.physics import inspect_field
    from parkf.imports.field.read import read_field
    from parkf.io.findings import settle

    field = read_field(
        source,
        length=length,
        unit=unit,
        polarity=sign_of(polarity),
        interpolation=interpolation,
        outside=outside,
    )
    settle([inspect_field(field, DipoleSources.load(dipole), source)], trust=trust, as_json=as_json)
    field.save(output)
    written(output)


@importer.command(
    "steps", epilog="Example: parkf import steps 'tuning_*.root' datasets/ --field field.npz --polarity down"
)
def import_steps(
    source: Annotated[str, Argument(help="Column map (.yaml), or quoted pattern of tuning trees (.root).")],
    folder: Annotated[Path, Argument(help="Folder for <step>.parquet of every step.")],
    field: FieldFile,
    polarity: PolarityOption = None,
    geometry: GeometryOption = None,
    alignment: AlignmentOption = None,
    trust: Trust = False,
    as_json: Json = False,
    steps: Annotated[str, Option(help="Names of steps, separated by blanks; all by default.")] = "",
    share: Share = 1e-3,
    threads: Threads = 1,
) -> None:
    """Import step datasets: LHCb's tuning trees, or any columns, with a column map."""
    from parkf.detector.field import load_field
    from parkf.detector.geometry import load_geometry
    from parkf.imports.columns import sign_of
    from parkf.imports.steps.take import import_steps as run
    from parkf.io.findings import settle

    for taken in run(
        source,
        folder,
        field=load_field(field),
        polarity=None if polarity is None else sign_of(polarity),
        steps=tuple(steps.split()),
        settle=partial(settle, trust=trust, as_json=as_json),
        trust=trust,
        geometry=None if geometry is None else load_geometry(geometry, alignment),
        threads=threads,
        share=share,
    ):
        say(str(taken), file=sys.stderr)


@importer.command(
    "hits",
    epilog="Example: parkf import hits hits.parquet tracks.parquet --hits own_hits.parquet"
    " --particles own_particles.parquet",
)
def import_hits(
    source: Annotated[
        str,
        Argument(help="Hits (.parquet), or trees Hits_detectors (.root, or a quoted pattern)."),
    ],
    tracks: Annotated[Path | None, Argument(help="Particles (.parquet), if the hits are .parquet.")] = None,
    hits_to: Annotated[Path | None, Option("--hits", help="Hits to write.")] = None,
    particles_to: Annotated[Path | None, Option("--particles", help="Particles to write.")] = None,
    candidates_to: Annotated[
        Path | None, Option("--candidates", help="Candidates to write, one for each reconstructed track.")
    ] = None,
    polarity: PolarityOption = None,
    geometry: GeometryOption = None,
    alignment: AlignmentOption = None,
    field: Annotated[Path | None, Option(help="Field map (.npz).")] = None,
    trust: Trust = False,
    as_json: Json = False,
    tree: Annotated[str | None, Option(help="Name of the trees, if it is not Hits_detectors.")] = None,
    threads: Threads = 1,
) -> None:
    """Import hits and particles, or reconstructed tracks, of other programs, such as LHCb's."""
    from parkf.detector.field import load_field
    from parkf.detector.geometry import load_geometry
    from parkf.imports.columns import sign_of
    from parkf.imports.hits.physics import Run
    from parkf.imports.hits.take import take_entries, take_tables
    from parkf.io.findings import settle as judge
    from parkf.io.fingerprints.detector import detector_metadata

    settle = partial(judge, trust=trust, as_json=as_json)
    run, made_with = None, None
    if geometry is not None and field is not None and polarity is not None:
        sign = sign_of(polarity)
        made_with = detector_metadata(geometry, alignment, field, sign)
        run = Run(load_field(field), sign, load_geometry(geometry, alignment), threads)
    parquet = Path(source).suffix == ".parquet"
    if run is None and (not parquet or any((geometry, alignment, field, polarity))):
        raise ParkfError(
            f"{source}: physics checks need --geometry, --field and --polarity, expected all three"
        )
    if parquet:
        if tracks is None or hits_to is None or particles_to is None or candidates_to is not None:
            raise ParkfError(
                f"{source}: hits in Parquet need the particles' file, --hits and --particles, and make no"
                " --candidates"
            )
        checks = None if run is None else (run, settle)
        take_tables(Path(source), tracks, hits_to=hits_to, particles_to=particles_to, checks=checks)
        if run is None:
            say("physics not checked: say --geometry, --field and --polarity", file=sys.stderr)
    elif run is not None:
        take_entries(
            source,
            run,
            settle=settle,
            hits_to=hits_to,
            particles_to=particles_to,
            candidates_to=candidates_to,
            made_with=made_with,
            tree=tree,
        )
    written(hits_to, particles_to, candidates_to)


@importer.command(
    "geometry",
    epilog="Example: parkf import geometry dumps/ --geometry geometry.yaml --alignment alignment.yaml",
)
def import_geometry(
    dumps: Annotated[list[Path], Argument(help="Allen's dumps: their folder, or the files.")],
    geometry: Annotated[Path, Option(help="Geometry file to write.")],
    alignment: Annotated[Path, Option(help="Alignment file to write.")],
    base: Annotated[
        Path, Option(callback=found, help="Geometry whose material, errors and efficiencies are used.")
    ] = BASE,
    tag: Annotated[str | None, Option(help="Tag of both; by default, name of the dumps' folder.")] = None,
) -> None:
    """Import Allen's dumps of a geometry: VELO, UT, SciFi and beam line."""
    from parkf.imports.geometry.folder import import_dumps

    say(import_dumps(dumps, base=base, geometry=geometry, alignment=alignment, tag=tag))


@importer.command(
    "alignment",
    epilog="Example: parkf import alignment conditions.yaml alignment.yaml"
    " --geometry data/geometry/run3.yaml",
)
def import_alignment(
    conditions: Annotated[list[Path], Argument(help="LHCb's conditions (YAML), one or more files.")],
    output: Annotated[Path, Argument(help="Alignment file to write.")],
    geometry: Annotated[Path, Option(help="Geometry that the conditions are for.")],
    tag: Annotated[str | None, Option(help="Tag to write; by default, name of the first file.")] = None,
) -> None:
    """Import an alignment from LHCb's conditions."""
    from parkf.imports.geometry.folder import import_conditions

    say(import_conditions(conditions, output, geometry=geometry, tag=tag))


@exporter.command(
    "alignment",
    epilog="Example: parkf export alignment data/geometry/alignment_velo_shift.yaml conditions.yaml",
)
def export_alignment(
    alignment: Annotated[Path, Argument(help="Alignment file.")],
    output: Annotated[Path, Argument(help="LHCb's conditions to write (YAML).")],
) -> None:
    """Write an alignment as LHCb's conditions."""
    from parkf.detector.alignment import load_alignment
    from parkf.imports.geometry.conditions import export_alignment as run

    run(load_alignment(alignment), output)
    written(output)


@exporter.command("tree", epilog="Example: parkf export tree fitted.parquet fitted.root")
def export_tree(
    table: Annotated[Path, Argument(help="Table of parkf, such as fitted tracks (Parquet).")],
    output: Annotated[Path, Argument(help="ROOT file to write.")],
) -> None:
    """Write a table as a tree of a ROOT file: a branch for each column."""
    from parkf.io.tree_export import export_tree as run

    run(table, output)
    written(output)


@geometries.command(epilog="Example: parkf geometry show data/geometry/run3.yaml run3.png")
def show(
    geometry: GeometryArgument,
    output: Annotated[Path, Argument(help="Picture to write (.svg or .png).")],
    alignment: AlignmentOption = None,
) -> None:
    """Draw a geometry: from the side, around the beam, and its material."""
    from parkf.detector.geometry import load_geometry
    from parkf.report.geometry import draw

    draw(load_geometry(geometry, alignment), output)
    written(output)


@geometries.command(epilog="Example: parkf geometry check data/geometry/run3.yaml")
def check(geometry: GeometryArgument, alignment: AlignmentOption = None) -> None:
    """Print what is in a geometry, and which of its values are doubtful."""
    from parkf.detector.geometry import load_geometry
    from parkf.detector.soundness import describe, doubts

    placed = load_geometry(geometry, alignment)
    doubtful = doubts(placed)
    say("\n".join([describe(placed), *(f"doubtful: {doubt}" for doubt in doubtful)]))
    say(f"{geometry}: {'ok' if not doubtful else f'{len(doubtful)} doubts'}")


@app.command(epilog="Example: parkf field data/field/dipole.json field.npz --spacing 50")
def field(
    source: Annotated[Path, Argument(help="Dipole (.json), or grid (.npz).")],
    output: Annotated[Path, Argument(help="Field map to write (.npz).")],
    spacing: Annotated[float, Option(help="Grid spacing [mm], for analytic sources.")] = 100.0,
    outside: OutsideMap = "error",
    interpolation: Between = "linear",
) -> None:
    """Evaluate an analytic dipole (.json) onto a grid, or check and copy a user's grid (.npz)."""
    from parkf.detector.field import make_field_map

    make_field_map(source, spacing=spacing, outside=outside, interpolation=interpolation).save(output)
    written(output)


@app.command(
    "measure-field",
    epilog="Example: parkf measure-field candidates.parquet particles.parquet measured.json"
    " --geometry data/geometry/run3.yaml --alignment data/geometry/alignment_nominal.yaml"
    " --field results/default/field.npz --to corrected.npz",
)
def measure_field(
    candidates: Annotated[
        Path, Argument(help="Candidates of one polarity, by `parkf candidates --matched`.")
    ],
    particles: Annotated[Path, Argument(help="Their true particles.")],
    output: Annotated[Path, Argument(help="Nuisances with errors to write (JSON).")],
    geometry: GeometryFile,
    alignment: AlignmentFile,
    field: FieldFile,
    known: Annotated[
        list[str] | None,
        Option(metavar="NAME=VALUE:ERROR", help="A nuisance that is known from elsewhere; may be repeated."),
    ] = None,
    only: Annotated[str, Option(help="Nuisances to fit, separated by blanks; all by default.")] = "",
    to: Annotated[Path | None, Option(help="Map to write, with the measured field (.npz).")] = None,
) -> None:
    """Measure field, SciFi and energy loss with tracks of known momentum, as nuisances of one fit."""
    from parkf.data.field.inspection import document, inspect_measured
    from parkf.data.field.measure import measure
    from parkf.data.field.nuisances import NUISANCES, changed_field
    from parkf.data.field.tracks import read_true_tracks
    from parkf.detector.field import load_field
    from parkf.detector.geometry import load_geometry
    from parkf.io.files import write_sealed

    magnet = load_field(field)
    names = tuple(only.split()) or tuple(NUISANCES)
    form = "NAME=VALUE:ERROR with a positive error, such as field_middle=-1e-4:1e-4"
    elsewhere = {
        name: (value, error) for name, (value, error) in numbers_by_name(known or [], form, 2).items()
    }
    tracks = read_true_tracks(candidates, particles)
    measured = measure(tracks, load_geometry(geometry, alignment), magnet, names=names, known=elsewhere)
    say(inspect_measured(measured, str(candidates)).table(), flush=True)
    if to is not None:
        changed_field(magnet, measured.nuisances.by_name).save(to)
    write_sealed(output, document(measured))


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
