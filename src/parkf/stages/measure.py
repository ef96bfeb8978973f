"""Stage ``measure``: figures of the fit of one sample."""

from parkf.detector.field import load_field
from parkf.fit.fitted import common_set
from parkf.fit.sample import load_sample
from parkf.fit.truth import Files
from parkf.io.files import write_sealed
from parkf.proof.validation.likeness import measure_tracks
from parkf.stages.files import Made, Read


def measure(*, particles: Read, candidates: Read, fitted: Read, field: Read, output: Made) -> None:
    """Measure resolution, pulls and χ² of a sample, whose true states are carried through the field."""
    measured = measure_tracks(load_sample([Files(particles, candidates, fitted)], load_field(field)))
    write_sealed(output, measured | {"set": common_set([fitted])})
