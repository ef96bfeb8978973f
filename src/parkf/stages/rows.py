"""Stage ``rows``: a chunk's rows for the step datasets."""

from parkf.detector.field import load_field
from parkf.detector.geometry import load_geometry
from parkf.stages.files import AllMade, Read, folder_of
from parkf.training.datasets.builder import build_rows


def rows(
    *,
    geometry: Read,
    alignment: Read,
    field: Read,
    particles: Read,
    states: Read,
    thresholds: Read,
    outputs: AllMade,
    threads: int = 1,
) -> None:
    """Build the rows of every step, ``<step>.parquet``: true origin, true target, Runge-Kutta target."""
    beam, magnet = load_geometry(geometry, alignment).beam, load_field(field)
    build_rows(particles, states, thresholds, folder_of(outputs), beam=beam, field=magnet, threads=threads)
