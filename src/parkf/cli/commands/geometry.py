"""Commands for geometries and alignments: taken over, given away, looked at and checked."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parkf.cli.commands.importing import importer

if TYPE_CHECKING:
    from parkf.detector.geometry import Geometry

app = typer.Typer(help="Look at a geometry.", no_args_is_help=True)
exporter = typer.Typer(help="Give away what others read.", no_args_is_help=True)

BASE = Path("data/geometry/run3.yaml")

Base = Annotated[Path, typer.Option("--base", help="Geometry that gives material, errors and efficiencies.")]
GeometryArgument = Annotated[Path, typer.Argument(help="Geometry file (YAML).")]
AlignmentOption = Annotated[Path | None, typer.Option("--alignment", help="Alignment file on top of it.")]


@importer.command("geometry")
def import_geometry(
    dumps: Annotated[list[Path], typer.Argument(help="Allen's dumps: their folder, or the files.")],
    geometry: Annotated[Path, typer.Option("--geometry", help="Geometry file to write.")],
    alignment: Annotated[Path, typer.Option("--alignment", help="Alignment file to write.")],
    base: Base = BASE,
    tag: Annotated[str | None, typer.Option(help="Name of both; else that of the dumps' folder.")] = None,
) -> None:
    """Take over Allen's dumps of a geometry: VELO, UT, SciFi and beam line."""
    from parkf.imports.geometry.folder import import_dumps

    print(import_dumps(dumps, base=base, geometry=geometry, alignment=alignment, tag=tag))


@importer.command("alignment")
def import_alignment(
    conditions: Annotated[list[Path], typer.Argument(help="LHCb's conditions (YAML), one or more files.")],
    output: Annotated[Path, typer.Argument(help="Alignment file to write.")],
    geometry: Annotated[Path, typer.Option("--geometry", help="Geometry that they are for.")],
    tag: Annotated[str | None, typer.Option(help="Its name; else that of the first file.")] = None,
) -> None:
    """Take over an alignment from LHCb's conditions."""
    from parkf.imports.geometry.folder import import_conditions

    print(import_conditions(conditions, output, geometry=geometry, tag=tag))


@exporter.command("alignment")
def export_alignment(
    alignment: Annotated[Path, typer.Argument(help="Alignment file.")],
    output: Annotated[Path, typer.Argument(help="LHCb's conditions to write (YAML).")],
) -> None:
    """Write an alignment as LHCb's conditions."""
    from parkf.detector.alignment import load_alignment
    from parkf.imports.geometry.conditions import export_alignment as run

    run(load_alignment(alignment), output)


@app.command()
def show(
    geometry: GeometryArgument,
    output: Annotated[Path, typer.Argument(help="Picture to write (.svg or .png).")],
    alignment: AlignmentOption = None,
) -> None:
    """Draw a geometry: from the side, each plane from the front, and its material."""
    from parkf.report.geometry import draw

    draw(_placed(geometry, alignment), output)


@app.command()
def check(geometry: GeometryArgument, alignment: AlignmentOption = None) -> None:
    """Say what is wrong with a geometry, or what is in it."""
    from parkf.detector.soundness import describe, doubts

    placed = _placed(geometry, alignment)
    found = doubts(placed)
    print("\n".join([describe(placed), *(f"doubtful: {doubt}" for doubt in found)]))
    print(f"{geometry}: {'ok' if not found else f'{len(found)} doubts'}")


@app.command()
def hits(
    geometry: GeometryArgument,
    hits: Annotated[Path, typer.Argument(help="Hits as `parkf import hits` takes them (Parquet).")],
    alignment: AlignmentOption = None,
) -> None:
    """Say how far hits of another simulation lie from what a geometry has there."""
    import numpy as np

    from parkf.imports.hits.full_simulation import read_hits
    from parkf.io.terminal import aligned
    from parkf.proof.validation.positions import positions

    rows = []
    for found in positions(read_hits(hits), _placed(geometry, alignment)):
        for what, off, shifted, beside in (
            ("sensor, sector, mat", found.off, found.shifted, found.beside),
            ("layer, module", found.plane_off, found.plane_shifted, np.full(1, np.nan)),
        ):
            sizes = [f"{1e3 * size:.2f}" for size in (*np.quantile(off, [0.5, 0.95, 1.0]), np.max(beside))]
            within = f"{100 * np.mean(shifted < 1.0):.2f}"
            rows.append((found.detector, len(found.off), what, *sizes, f"{shifted.max():.2g}", within))
    header = ("off/µm: median", "95 %", "largest", "beyond its edge/µm", "largest in errors", "within one/%")
    print(aligned(("detector", "hits", "of their", *header), rows))


def _placed(geometry: Path, alignment: Path | None) -> "Geometry":
    from parkf.cli.commands.options import aligned
    from parkf.detector.geometry import load_geometry

    return load_geometry(geometry) if alignment is None else aligned(geometry, alignment)
