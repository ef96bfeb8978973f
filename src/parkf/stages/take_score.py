"""The ghost score of a run whose alignment is a little different."""

from parkf.io.files import copy
from parkf.stages.files import Made, Read


def take_score(*, theirs: Read, output: Made) -> None:
    """Copy the neighbour's score."""
    copy(theirs, output)
