"""Stage ``close``: the magnet table, closed on fits of tracks."""

from typing import Any

from parkf.detector.field import load_field
from parkf.detector.geometry import load_geometry
from parkf.io.files import read_json, sha256, write_sealed
from parkf.io.option_types import Scheme
from parkf.stages.files import AllRead, Made, Read, folder_of
from parkf.training.assembly import assemble
from parkf.training.closure.close import close_table


def close(
    *,
    geometry: Read,
    alignment: Read,
    field: Read,
    table: Read,
    table_accuracy: Read,
    fits: AllRead,
    samples: AllRead,
    output: Made,
    accuracy: Made,
    summary: Made,
    rays: int,
    passes: int,
    scheme: Scheme = "smoother",
    seed: int,
    configuration: dict[str, Any],
    threads: int = 1,
) -> None:
    """Change the table's bend so that fits of tracks have no bias in any direction.

    Parameters
    ----------
    samples
        Files of ``closure_tracks``, of all polarities.
    accuracy, summary
        Figures of the closed table against its targets, and which tracks it was closed with.
    rays, passes
        Rays to extrapolate through the SciFi, and passes over the fits of the tracks.
    scheme
        The fit that will use the set.
    configuration
        Keys of the run that decide the noise.
    """
    closed, figures = close_table(
        assemble(folder_of(fits), table, geometry, alignment, field, seed=seed, configuration=configuration),
        samples,
        geometry=load_geometry(geometry, alignment),
        field=load_field(field),
        rays=rays,
        passes=passes,
        seed=seed,
        scheme=scheme,
        threads=threads,
    )
    closed.save(output)
    write_sealed(accuracy, {**figures, "before": read_json(table_accuracy)})
    inputs = {f"closure tracks {path.stem}": sha256(path) for path in samples}
    write_sealed(summary, {"inputs": inputs})
