"""Stage ``characterise_search``: figures of a pattern recognition."""

from parkf.fit.sample import load_sample
from parkf.fit.truth import Files
from parkf.io.files import write_sealed
from parkf.proof.validation.kinds import measure_search
from parkf.proof.validation.likeness import select_by_eta
from parkf.stages.files import Made, Read

_EDGES = (2e3, 3e3, 5e3, 10e3, 20e3, 100e3)  # MeV


def characterise_search(
    *, particles: Read, matched: Read, matched_fitted: Read, candidates: Read, fitted: Read, output: Made
) -> None:
    """Measure what a search found of the tracks `matched` by truth, 2 < η < 5, to compare it with another."""
    found, true = (
        load_sample([Files(particles, *files)]) for files in ((candidates, fitted), (matched, matched_fitted))
    )
    write_sealed(output, measure_search(found, select_by_eta(true), _EDGES))
