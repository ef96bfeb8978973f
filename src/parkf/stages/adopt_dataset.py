"""Stage ``adopt_dataset``: a user's own dataset of a step."""

from parkf.io.files import copy
from parkf.io.terminal import say
from parkf.stages.files import Made, Read
from parkf.training.datasets.checks import check_dataset


def adopt_dataset(*, dataset: Read, output: Made, step: str) -> None:
    """Check a dataset as `parkf check-dataset` does, and copy it."""
    rows = check_dataset(dataset, step)
    copy(dataset, output)
    say(f"{dataset}: {rows:,} rows of step {step}, all good")
