"""Stage ``measure_electrons``: electrons of the validation and of signals."""

from parkf.detector.field import load_field
from parkf.detector.geometry import load_geometry
from parkf.io.files import write_sealed
from parkf.proof.validation.electrons import measure_electrons as measure
from parkf.proof.validation.kinds import Simulated
from parkf.stages.files import AllRead, Made, Read, set_folder


def measure_electrons(
    *,
    set: AllRead,
    geometry: Read,
    alignment: Read,
    field: Read,
    particles: AllRead,
    candidates: AllRead,
    decay_particles: AllRead,
    decay_hits: AllRead,
    output: Made,
    threads: int = 1,
) -> None:
    """Fit electrons as pions and as electrons, and compare with the truth.

    `decay_particles` and `decay_hits` are files ``<decay>_<polarity>.parquet``.
    """
    figures = measure(
        set_folder(set),
        list(zip(particles, candidates, strict=True)),
        Simulated.by_decay(decay_particles, decay_hits),
        geometry=load_geometry(geometry, alignment),
        field=load_field(field),
        threads=threads,
    )
    write_sealed(output, figures)
