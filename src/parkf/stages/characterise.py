"""Stage ``characterise``: figures of a simulated sample."""

from parkf.detector.field import load_field
from parkf.detector.geometry import load_geometry
from parkf.io.files import write_sealed
from parkf.proof.validation.likeness import characterise as describe
from parkf.stages.files import Made, Read


def characterise(
    *,
    geometry: Read,
    alignment: Read,
    field: Read,
    hits: Read,
    particles: Read,
    matched: Read,
    found: Read,
    output: Made,
    polarity: int,
) -> None:
    """Describe a sample by figures, to compare it with another one.

    `matched` are candidates whose hits are grouped by true particle, and `found` are those of the search.
    """
    placed, magnet = load_geometry(geometry, alignment), load_field(field)
    files = (hits, particles, matched, found)
    write_sealed(output, describe(*files, geometry=placed, field=magnet, polarity=polarity))
