"""Stage ``rows``: the rows of chunks for the step datasets."""

from parkf.detector.field import load_field
from parkf.detector.geometry import load_geometry
from parkf.stages.files import AllMade, AllRead, Read
from parkf.training.datasets.builder import build_rows


def rows(
    *,
    geometry: Read,
    alignment: Read,
    field: Read,
    particles: AllRead,
    states: AllRead,
    thresholds: Read,
    outputs: AllMade,
    threads: int = 1,
) -> None:
    """Build the rows of every step: true origin, true target, Runge-Kutta target.

    Each chunk has its own folder of `outputs`, in the order of its `particles` and `states`, with a file
    ``<step>.parquet`` for each step.
    """
    beam, magnet = load_geometry(geometry, alignment).beam, load_field(field)
    folders = dict.fromkeys(path.parent for path in outputs)
    for shot, true, folder in zip(particles, states, folders, strict=True):
        build_rows(shot, true, thresholds, folder, beam=beam, field=magnet, threads=threads)
