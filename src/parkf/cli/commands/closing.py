"""Commands that close the magnet table on the fit."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from parkf.cli.commands.options import (
    AlignmentFile,
    FieldFile,
    GeometryFile,
    Polarity,
    Seed,
    Threads,
    aligned,
    mapping,
)

app = typer.Typer()


@app.command("closure-tracks")
def closure_tracks(
    output: Path,
    geometry: GeometryFile,
    alignment: AlignmentFile,
    field: FieldFile,
    polarity: Polarity,
    tracks: Annotated[int, typer.Option(min=1, help="Particles to start; half of them leave a track.")],
    seed: Seed,
    threads: Threads = 1,
) -> None:
    """Simulate tracks spread over the magnet table, and fit them in full."""
    from parkf.detector.field import FieldMap
    from parkf.training.closure.sample import simulate_sample

    count = simulate_sample(
        output,
        tracks=tracks,
        seed=seed,
        polarity=polarity,
        geometry=aligned(geometry, alignment),
        field=FieldMap.load(field),
        threads=threads,
    )
    print(f"closure-tracks: {count} tracks of {tracks} particles, seed {seed}", file=sys.stderr)


@app.command()
def close(
    output: Annotated[Path, typer.Argument(help="The closed table.")],
    accuracy: Annotated[Path, typer.Argument(help="Its figures against its targets (JSON).")],
    summary: Annotated[Path, typer.Argument(help="What came of each stage (JSON).")],
    samples: Annotated[list[Path], typer.Argument(help="What `closure-tracks` wrote, of all polarities.")],
    fits: Annotated[Path, typer.Option(help="Folder of the fits of all steps.")],
    table: Annotated[Path, typer.Option(help="Magnet table that they were fitted with.")],
    table_accuracy: Annotated[Path, typer.Option(help="Its figures, to keep beside.")],
    geometry: GeometryFile,
    alignment: AlignmentFile,
    field: FieldFile,
    rays: Annotated[int, typer.Option(min=1000, help="Rays to carry on through the SciFi.")],
    passes: Annotated[int, typer.Option(min=0, help="Passes over the fits of the tracks.")],
    seed: Seed,
    configuration: Annotated[
        str, typer.Option(help="Keys of the run's configuration, as JSON, for the noise.")
    ] = "{}",
    threads: Threads = 1,
) -> None:
    """Change the table's bend so that fits of tracks have no bias in any direction."""
    from parkf.detector.field import FieldMap
    from parkf.io.files import read_json, sha256, write_sealed
    from parkf.training.assembly import assemble
    from parkf.training.closure.close import close as run

    before = assemble(
        fits,
        table,
        geometry=geometry,
        alignment=alignment,
        field=field,
        seed=seed,
        configuration=mapping("--configuration", configuration),
    )
    closed = run(
        before,
        samples,
        geometry=aligned(geometry, alignment),
        field=FieldMap.load(field),
        rays=rays,
        passes=passes,
        seed=seed,
        threads=threads,
    )
    closed.table.save(output)
    write_sealed(accuracy, {**closed.accuracy, "before": read_json(table_accuracy)})
    inputs = {f"closure tracks {path.stem}": sha256(path) for path in samples}
    write_sealed(summary, {**closed.summary, "inputs": inputs})


@app.command("take-closure")
def take_closure(
    output: Annotated[Path, typer.Argument(help="The closed table.")],
    accuracy: Annotated[Path, typer.Argument(help="The neighbour's figures of it (JSON).")],
    summary: Annotated[Path, typer.Argument(help="What came of each of the neighbour's stages (JSON).")],
    neighbour: Annotated[Path, typer.Option(help="Another run's folder `closure`.")],
    fits: Annotated[Path, typer.Option(help="Folder of the fits of all steps.")],
    table: Annotated[Path, typer.Option(help="Magnet table that they were fitted with.")],
    geometry: GeometryFile,
    alignment: AlignmentFile,
    field: FieldFile,
    seed: Seed,
    configuration: Annotated[
        str, typer.Option(help="Keys of the run's configuration, as JSON, for the noise.")
    ] = "{}",
) -> None:
    """Take the closed table of a run whose alignment is a little different."""
    from parkf.io.files import read_json, sha256, write_sealed
    from parkf.params.configuration import NEIGHBOURS_TABLE
    from parkf.training.assembly import assemble
    from parkf.training.closure.neighbour import neighbours_table

    theirs = neighbour / "table.npz"
    before = assemble(
        fits,
        table,
        geometry=geometry,
        alignment=alignment,
        field=field,
        seed=seed,
        configuration=mapping("--configuration", configuration),
    )
    neighbours_table(before, theirs).save(output)
    write_sealed(accuracy, read_json(neighbour / accuracy.name))
    said = read_json(neighbour / summary.name)
    write_sealed(summary, {**said, "inputs": {NEIGHBOURS_TABLE: sha256(theirs)}})
