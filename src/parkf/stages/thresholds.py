"""Stage ``thresholds``: which rows the step datasets keep."""

from parkf.stages.files import AllRead, Made
from parkf.training.datasets.lottery import find_thresholds


def thresholds(*, draws: AllRead, output: Made, max_rows: int) -> None:
    """Find the random numbers below which rows are kept, from the draws of all chunks of all samples."""
    find_thresholds(draws, output, max_rows=max_rows)
