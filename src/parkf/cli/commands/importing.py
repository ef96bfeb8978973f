"""Commands that import files of others; each checks physics before it writes."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parkf.cli.commands.options import BetweenNodes, FieldFile, OutsideMap, Threads, aligned, grouped

if TYPE_CHECKING:
    from parkf.detector.geometry import Geometry
    from parkf.imports.inspection import Inspection

importer = typer.Typer(help="Import files of others.", no_args_is_help=True)

DIPOLE = Path("data/field/dipole.json")


@dataclass(frozen=True)
class Verdict:
    """Options that decide what happens with the results of physics checks."""

    trust: Annotated[bool, typer.Option("--trust", help="Import even if physics checks fail.")] = False
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False

    def settle(self, inspections: "Sequence[Inspection]") -> None:
        """Print the results, and refuse to import what is wrong.

        Raises
        ------
        ParkfError
            When something is wrong and the user did not ask to trust it.
        """
        from parkf.imports.inspection import require_sound

        if self.as_json:
            print(json.dumps([inspection.as_json() for inspection in inspections], indent=1))
        else:
            print("\n\n".join(inspection.table() for inspection in inspections))
        sys.stdout.flush()
        require_sound(inspections, trust=self.trust)


@dataclass(frozen=True)
class KnownDetector:
    """Options that describe the detector of others' files, where it is known."""

    polarity: Annotated[str | None, typer.Option(help="Polarity: up or down.")] = None
    geometry: Annotated[Path | None, typer.Option(help="Geometry file (YAML), with the planes.")] = None
    alignment: Annotated[Path | None, typer.Option(help="On top of the geometry.")] = None

    def sign(self) -> int | None:
        """Return +1 for up, -1 for down."""
        from parkf.imports.units import sign_of

        return None if self.polarity is None else sign_of(self.polarity)

    def aligned(self) -> "Geometry | None":
        """Load the geometry."""
        return None if self.geometry is None else aligned(self.geometry, self.alignment)


@importer.command("field")
@grouped
def import_field(
    source: Annotated[
        str, typer.Argument(help="The map's file; of a .cdf map a pattern in quotes, for four.")
    ],
    output: Annotated[Path, typer.Argument(help="Map to write (.npz).")],
    verdict: Verdict,
    length: Annotated[str | None, typer.Option(help="Unit of x, y, z: mm, cm, m.")] = None,
    unit: Annotated[str | None, typer.Option(help="Unit of the field: T, kG, G, Gaudi.")] = None,
    symmetry: Annotated[
        str, typer.Option(help="none; octant, as ACTS unfolds it; quadrant of a dipole.")
    ] = "none",
    tree: Annotated[str | None, typer.Option(help="Name of the tree in a ROOT file.")] = None,
    polarity: Annotated[str, typer.Option(help="Polarity of the map: up or down.")] = "down",
    outside: OutsideMap = "error",
    interpolation: BetweenNodes = "linear",
    dipole: Annotated[Path, typer.Option(help="Field to compare with (.json).")] = DIPOLE,
) -> None:
    """Import a field map: LHCb's .cdf, Allen's magfield.bin, ACTS's text or ROOT tree, CSV."""
    from parkf.detector.dipole import DipoleSources
    from parkf.imports.field import Declared, read_field
    from parkf.imports.field.physics import inspect_field
    from parkf.imports.units import sign_of

    declared = Declared(length, unit, symmetry, sign_of(polarity), tree)
    field = read_field(source, declared, interpolation=interpolation, outside=outside)
    verdict.settle([inspect_field(field, DipoleSources.load(dipole), source)])
    field.save(output)


@importer.command("steps")
@grouped
def import_steps(
    source: Annotated[
        str,
        typer.Argument(
            help="A column map (.yaml), or a pattern in quotes for files of tuning trees (.root)."
        ),
    ],
    folder: Annotated[Path, typer.Argument(help="Folder for <step>.parquet of every step.")],
    field: FieldFile,
    detector: KnownDetector,
    verdict: Verdict,
    steps: Annotated[str, typer.Option(help="Names of steps, separated by blanks; all by default.")] = "",
    threads: Threads = 1,
) -> None:
    """Import step datasets: LHCb's tuning trees, or any columns by a map."""
    from parkf.detector.field import FieldMap
    from parkf.imports.steps.take import import_steps as run

    for taken in run(
        source,
        folder,
        field=FieldMap.load(field),
        polarity=detector.sign(),
        steps=tuple(steps.split()),
        settle=verdict.settle,
        trust=verdict.trust,
        geometry=detector.aligned(),
        threads=threads,
    ):
        print(f"{taken.step}: {taken.rows} rows, {taken.lost} left the map", file=sys.stderr)


@importer.command("hits")
@grouped
def import_hits(
    source: Annotated[
        Path,
        typer.Argument(help="Hits (.parquet), a tree Hits_detectors (.root), or a folder with hits.csv."),
    ],
    detector: KnownDetector,
    verdict: Verdict,
    tracks: Annotated[Path | None, typer.Argument(help="Particles of hits in Parquet.")] = None,
    hits_to: Annotated[Path | None, typer.Option("--hits", help="Hits to write.")] = None,
    particles_to: Annotated[Path | None, typer.Option("--particles", help="Particles to write.")] = None,
    candidates_to: Annotated[
        Path | None,
        typer.Option("--candidates", help="Candidates to write: entries are reconstructed tracks."),
    ] = None,
    field: Annotated[Path | None, typer.Option(help="Field map (.npz).")] = None,
    threads: Threads = 1,
) -> None:
    """Import hits and particles, or reconstructed tracks, of others, such as LHCb's."""
    from parkf.detector.field import FieldMap
    from parkf.imports.hits.physics import Run
    from parkf.imports.hits.take import take_entries, take_tables
    from parkf.io.errors import ParkfError

    geometry, sign, settle = detector.aligned(), detector.sign(), verdict.settle
    run = None
    if geometry is not None and field is not None and sign is not None:
        run = Run(FieldMap.load(field), sign, geometry, threads)
    if source.suffix == ".parquet":
        if tracks is None or hits_to is None or particles_to is None:
            raise ParkfError(f"{source}: hits in Parquet need the particles' file, --hits and --particles")
        take_tables(source, tracks, run, settle=settle, hits_to=hits_to, particles_to=particles_to)
    elif run is None:
        raise ParkfError(f"{source}: physics checks need --geometry, --field and --polarity")
    else:
        take_entries(
            source,
            run,
            settle=settle,
            hits_to=hits_to,
            particles_to=particles_to,
            candidates_to=candidates_to,
        )
