"""Stage ``characterise_search``: figures of a pattern recognition."""

from parkf.fit.sample import load_sample
from parkf.fit.truth import Files
from parkf.io.files import write_sealed
from parkf.proof.validation.likeness import characterise_search as describe
from parkf.stages.files import Made, Read


def characterise_search(
    *, hits: Read, particles: Read, matched: Read, candidates: Read, fitted: Read, output: Made
) -> None:
    """Describe what a search found by figures, to compare it with another one."""
    sample = load_sample([Files(particles, candidates, fitted)])
    write_sealed(output, describe(hits, particles, matched, candidates, sample))
