"""Stage ``measure_long``: long tracks without UT hits, and electrons."""

from parkf.detector.field import load_field
from parkf.detector.geometry import load_geometry
from parkf.fit.truth import Files
from parkf.io.files import write_sealed
from parkf.proof.validation.electrons import measure_electrons
from parkf.proof.validation.kinds import measure_without_ut, simulated_samples
from parkf.stages.files import AllRead, Made, Read, set_folder


def measure_long(
    *,
    set: AllRead,
    geometry: Read,
    alignment: Read,
    field: Read,
    particles: AllRead,
    candidates: AllRead,
    decay_particles: AllRead,
    decay_hits: AllRead,
    without_ut: Made,
    electron: Made,
    threads: int = 1,
) -> None:
    """Fit candidates without their UT hits, and electrons as pions and as electrons; compare with the truth.

    `decay_particles` and `decay_hits` are files ``<decay>_<polarity>.parquet``.
    """
    files = list(map(Files, particles, candidates))
    placed, magnet = load_geometry(geometry, alignment), load_field(field)
    measured = measure_without_ut(set_folder(set), files, geometry=placed, field=magnet, threads=threads)
    write_sealed(without_ut, measured)
    decays = simulated_samples(decay_particles, decay_hits)
    figures = measure_electrons(
        set_folder(set), files, decays, geometry=placed, field=magnet, threads=threads
    )
    write_sealed(electron, figures)
