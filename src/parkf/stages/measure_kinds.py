"""Stage ``measure_kinds``: tracks of other kinds than long ones."""

from parkf.detector.field import load_field
from parkf.detector.geometry import load_geometry
from parkf.io.files import write_sealed
from parkf.io.kinds import kind_named
from parkf.proof.validation.kinds import measure_kinds as measure
from parkf.proof.validation.kinds import simulated_samples
from parkf.stages.files import AllMade, AllRead, Read, set_folder


def measure_kinds(
    *,
    set: AllRead,
    geometry: Read,
    alignment: Read,
    field: Read,
    particles: AllRead,
    hits: AllRead,
    crossings: AllRead,
    outputs: AllMade,
    threads: int = 1,
) -> None:
    """Fit candidates of kinds, made by truth, and compare with the truth and the full fit.

    The `outputs` are ``<kind>.json``. Files of samples are ``<sample>_<polarity>.parquet``.
    """
    figures = measure(
        [kind_named(output.stem) for output in outputs],
        set_folder(set),
        simulated_samples(particles, hits, crossings),
        geometry=load_geometry(geometry, alignment),
        field=load_field(field),
        threads=threads,
    )
    for output in outputs:
        write_sealed(output, figures[output.stem])
