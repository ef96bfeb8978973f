"""Stage ``characterise``: figures of a simulated sample."""

from parkf.io.files import write_sealed
from parkf.proof.validation.likeness import characterise as describe
from parkf.stages.files import Made, Read


def characterise(*, hits: Read, particles: Read, matched: Read, found: Read, output: Made) -> None:
    """Describe a sample by figures, to compare it with another one.

    `matched` are candidates whose hits are grouped by true particle, and `found` are those of the search.
    """
    write_sealed(output, describe(hits, particles, matched, found))
