"""Commands for geometries and alignments: import, export, drawings and checks."""

from pathlib import Path
from typing import Annotated

import typer

from parkf.cli.commands.importing import importer
from parkf.cli.commands.options import aligned

app = typer.Typer(help="Look at a geometry.", no_args_is_help=True)
exporter = typer.Typer(help="Export to formats that others read.", no_args_is_help=True)

BASE = Path("data/geometry/run3.yaml")

GeometryArgument = Annotated[Path, typer.Argument(help="Geometry file (YAML).")]
AlignmentOption = Annotated[Path | None, typer.Option("--alignment", help="Alignment file on top of it.")]


@importer.command("geometry")
def import_geometry(
    dumps: Annotated[list[Path], typer.Argument(help="Allen's dumps: their folder, or the files.")],
    geometry: Annotated[Path, typer.Option(help="Geometry file to write.")],
    alignment: Annotated[Path, typer.Option(help="Alignment file to write.")],
    base: Annotated[
        Path, typer.Option(help="Geometry whose material, errors and efficiencies are used.")
    ] = BASE,
    tag: Annotated[str | None, typer.Option(help="Name of both; else that of the dumps' folder.")] = None,
) -> None:
    """Import Allen's dumps of a geometry: VELO, UT, SciFi and beam line."""
    from parkf.imports.geometry.folder import import_dumps

    print(import_dumps(dumps, base=base, geometry=geometry, alignment=alignment, tag=tag))


@importer.command("alignment")
def import_alignment(
    conditions: Annotated[list[Path], typer.Argument(help="LHCb's conditions (YAML), one or more files.")],
    output: Annotated[Path, typer.Argument(help="Alignment file to write.")],
    geometry: Annotated[Path, typer.Option(help="Geometry that they are for.")],
    tag: Annotated[
        str | None, typer.Option(help="Name of the alignment; by default that of the first file.")
    ] = None,
) -> None:
    """Import an alignment from LHCb's conditions."""
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

    draw(aligned(geometry, alignment), output)


@app.command()
def check(geometry: GeometryArgument, alignment: AlignmentOption = None) -> None:
    """Print what is in a geometry, and what is doubtful about it."""
    from parkf.detector.soundness import describe, doubts

    placed = aligned(geometry, alignment)
    found = doubts(placed)
    print("\n".join([describe(placed), *(f"doubtful: {doubt}" for doubt in found)]))
    print(f"{geometry}: {'ok' if not found else f'{len(found)} doubts'}")


@app.command()
def hits(
    geometry: GeometryArgument,
    hits: Annotated[Path, typer.Argument(help="Hits as `parkf import hits` reads them (Parquet).")],
    alignment: AlignmentOption = None,
) -> None:
    """Print how far hits of another simulation are from the elements of a geometry."""
    import numpy as np

    from parkf.imports.hits.full_simulation import read_hits
    from parkf.io.terminal import aligned as in_columns
    from parkf.proof.validation.positions import positions

    rows = []
    for found in positions(read_hits(hits), aligned(geometry, alignment)):
        for what, off, shifted, beside in (
            ("sensor, sector, mat", found.off, found.shifted, found.beside),
            ("layer, module", found.plane_off, found.plane_shifted, np.full(1, np.nan)),
        ):
            sizes = [f"{1e3 * size:.2f}" for size in (*np.quantile(off, [0.5, 0.95, 1.0]), np.max(beside))]
            within = f"{100 * np.mean(shifted < 1.0):.2f}"
            rows.append((found.detector, len(found.off), what, *sizes, f"{shifted.max():.2g}", within))
    header = ("off/µm: median", "95 %", "largest", "beyond its edge/µm", "largest in errors", "within one/%")
    print(in_columns(("detector", "hits", "of their", *header), rows))
