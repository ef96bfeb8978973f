"""Commands that take over what others made; each asks physics before it writes."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parkf.cli.commands.options import FieldFile, Threads, aligned
from parkf.io.option_types import Interpolation, Outside

if TYPE_CHECKING:
    from parkf.detector.geometry import Geometry
    from parkf.imports.inspection import Inspection

importer = typer.Typer(help="Take over what others made.", no_args_is_help=True)

Trust = Annotated[bool, typer.Option("--trust", help="Take it over even if physics says that it is wrong.")]
Json = Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")]
MapPolarity = Annotated[str, typer.Option("--polarity", help="That it was made for: up or down.")]
Dipole = Annotated[Path, typer.Option("--dipole", help="What a field is compared with (.json).")]
DIPOLE = Path("data/field/dipole.json")


def settle(inspections: "Sequence[Inspection]", *, trust: bool, as_json: bool) -> None:
    """Print what was found, and refuse what is wrong.

    Raises
    ------
    ParkfError
        Where something is, and the user does not vouch for it.
    """
    from parkf.imports.inspection import require_sound

    if as_json:
        print(json.dumps([inspection.as_json() for inspection in inspections], indent=1))
    else:
        print("\n\n".join(inspection.table() for inspection in inspections))
    sys.stdout.flush()
    require_sound(inspections, trust=trust)


def _detector(geometry: Path | None, alignment: Path | None) -> "Geometry | None":
    """Load a geometry, aligned where an alignment is given."""
    from parkf.detector.geometry import load_geometry

    if geometry is None:
        return None
    return load_geometry(geometry) if alignment is None else aligned(geometry, alignment)


@importer.command("field")
def import_field(
    source: Annotated[
        str, typer.Argument(help="The map's file; of a .cdf map a pattern in quotes, for four.")
    ],
    output: Annotated[Path, typer.Argument(help="Map to write (.npz).")],
    length: Annotated[str | None, typer.Option(help="Unit of x, y, z: mm, cm, m.")] = None,
    unit: Annotated[str | None, typer.Option(help="Unit of the field: T, kG, G, Gaudi.")] = None,
    symmetry: Annotated[
        str, typer.Option(help="none; octant, as ACTS unfolds it; quadrant of a dipole.")
    ] = "none",
    tree: Annotated[str | None, typer.Option(help="Name of the tree in a ROOT file.")] = None,
    polarity: MapPolarity = "down",
    outside: Annotated[Outside, typer.Option(help="Look-up outside the map.")] = "error",
    interpolation: Annotated[Interpolation, typer.Option(help="Between the nodes.")] = "linear",
    dipole: Dipole = DIPOLE,
    trust: Trust = False,
    as_json: Json = False,
) -> None:
    """Take over a field map: LHCb's .cdf, Allen's magfield.bin, ACTS's text or ROOT tree, CSV."""
    from parkf.detector.dipole import DipoleSources
    from parkf.imports.field import Declared, read_field
    from parkf.imports.field.physics import inspect_field
    from parkf.imports.units import sign_of

    declared = Declared(length, unit, symmetry, sign_of(polarity), tree)
    taken = read_field(source, declared, interpolation=interpolation, outside=outside)
    settle([inspect_field(taken, DipoleSources.load(dipole), source)], trust=trust, as_json=as_json)
    taken.save(output)


@importer.command("steps")
def import_steps(
    source: Annotated[
        str,
        typer.Argument(
            help="A column map (.yaml), or a pattern in quotes for files of tuning trees (.root)."
        ),
    ],
    folder: Annotated[Path, typer.Argument(help="Takes <step>.parquet of every step.")],
    field: FieldFile,
    polarity: Annotated[str | None, typer.Option(help="Of tuning trees: up or down.")] = None,
    geometry: Annotated[Path | None, typer.Option(help="Whose planes rows begin and end at.")] = None,
    alignment: Annotated[Path | None, typer.Option(help="On top of the geometry.")] = None,
    steps: Annotated[str, typer.Option(help="Those wanted, separated by blanks; all by default.")] = "",
    trust: Trust = False,
    as_json: Json = False,
    threads: Threads = 1,
) -> None:
    """Take over step datasets: LHCb's tuning trees, or any columns by a map."""
    from parkf.detector.field import FieldMap
    from parkf.imports.steps.take import import_steps as run
    from parkf.imports.units import sign_of

    for taken in run(
        source,
        folder,
        field=FieldMap.load(field),
        polarity=None if polarity is None else sign_of(polarity),
        steps=tuple(steps.split()),
        settle=lambda inspections: settle(inspections, trust=trust, as_json=as_json),
        trust=trust,
        geometry=_detector(geometry, alignment),
        threads=threads,
    ):
        print(f"{taken.step}: {taken.rows} rows, {taken.lost} left the map", file=sys.stderr)


@importer.command("hits")
def import_hits(
    source: Annotated[
        Path,
        typer.Argument(help="Hits (.parquet), a tree Hits_detectors (.root), or a folder with hits.csv."),
    ],
    tracks: Annotated[Path | None, typer.Argument(help="Particles of hits in Parquet.")] = None,
    hits_to: Annotated[Path | None, typer.Option("--hits", help="Hits to write.")] = None,
    particles_to: Annotated[Path | None, typer.Option("--particles", help="Particles to write.")] = None,
    candidates_to: Annotated[
        Path | None,
        typer.Option("--candidates", help="Candidates to write: entries are reconstructed tracks."),
    ] = None,
    geometry: Annotated[Path | None, typer.Option(help="Geometry file (YAML).")] = None,
    alignment: Annotated[Path | None, typer.Option(help="On top of the geometry.")] = None,
    field: Annotated[Path | None, typer.Option(help="Field map (.npz).")] = None,
    polarity: Annotated[str | None, typer.Option(help="up or down.")] = None,
    trust: Trust = False,
    as_json: Json = False,
    threads: Threads = 1,
) -> None:
    """Take over hits and particles, or reconstructed tracks, of others; LHCb's for one."""
    from parkf.detector.field import FieldMap
    from parkf.imports.hits.physics import Run
    from parkf.imports.hits.take import take_entries, take_tables
    from parkf.imports.units import sign_of
    from parkf.io.errors import ParkfError

    def settled(inspections: "Sequence[Inspection]") -> None:
        settle(inspections, trust=trust, as_json=as_json)

    detector = _detector(geometry, alignment)
    run = None
    if detector is not None and field is not None and polarity is not None:
        run = Run(FieldMap.load(field), sign_of(polarity), detector, threads)
    if source.suffix == ".parquet":
        if tracks is None or hits_to is None or particles_to is None:
            raise ParkfError(f"{source}: hits in Parquet need the particles' file, --hits and --particles")
        take_tables(source, tracks, run, settle=settled, hits_to=hits_to, particles_to=particles_to)
        return
    if run is None:
        raise ParkfError(f"{source}: say --geometry, --field and --polarity, to ask physics with")
    take_entries(
        source, run, settle=settled, hits_to=hits_to, particles_to=particles_to, candidates_to=candidates_to
    )
