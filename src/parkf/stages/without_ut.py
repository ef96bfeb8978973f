"""Stage ``without_ut``: long tracks without UT hits."""

from parkf.detector.field import load_field
from parkf.detector.geometry import load_geometry
from parkf.io.files import write_sealed
from parkf.proof.validation.without_ut import measure_without_ut
from parkf.stages.files import AllRead, Made, Read, set_folder


def without_ut(
    *,
    set: AllRead,
    geometry: Read,
    alignment: Read,
    field: Read,
    particles: AllRead,
    candidates: AllRead,
    output: Made,
    threads: int = 1,
) -> None:
    """Fit candidates without their UT hits, and compare with the truth and the full fit."""
    files = list(zip(particles, candidates, strict=True))
    placed, magnet = load_geometry(geometry, alignment), load_field(field)
    measured = measure_without_ut(set_folder(set), files, geometry=placed, field=magnet, threads=threads)
    write_sealed(output, measured)
