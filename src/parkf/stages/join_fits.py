"""Stage ``join_fits``: the fit of a step, joined from its parts."""

from parkf.stages.files import AllRead, Made, Read
from parkf.training.result import PartResult, join_parts


def join_fits(*, dataset: Read, parts: AllRead, output: Made, threads: int = 1) -> None:
    """Join the parts of a step's training; a single job has the same result."""
    join_parts([PartResult.load(part) for part in parts], dataset, workers=threads).save(output)
