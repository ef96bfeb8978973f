"""Stage ``candidates``: track candidates in hits."""

from parkf.detector.field import load_field
from parkf.detector.geometry import load_geometry
from parkf.io.fingerprints.detector import detector_metadata
from parkf.io.option_types import Segments
from parkf.simulation.pattern import find_candidates
from parkf.stages.files import Made, Read


def candidates(
    *,
    geometry: Read,
    alignment: Read,
    field: Read,
    hits: Read,
    output: Made,
    polarity: int,
    segments: Segments = "truth",
    matched: bool = False,
    threads: int = 1,
) -> None:
    """Find long tracks in hits, or with `matched` group the hits by true particle.

    The polarity is +1 for MagUp, -1 for MagDown.
    """
    find_candidates(
        hits,
        output,
        geometry=load_geometry(geometry, alignment),
        field=load_field(field),
        polarity=polarity,
        workers=threads,
        segments=segments,
        matched=matched,
        made_with=detector_metadata(geometry, alignment, field, polarity),
    )
