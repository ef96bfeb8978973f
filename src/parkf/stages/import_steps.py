"""Stage ``import_steps``: the dataset of a step from foreign tuples."""

import sys

from parkf.detector.field import load_field
from parkf.detector.geometry import load_geometry
from parkf.imports.columns import sign_of
from parkf.imports.steps.take import import_steps as take_steps
from parkf.io.findings import settle
from parkf.io.terminal import say
from parkf.stages.files import AllRead, Made, Read


def import_steps(
    *,
    source: str,
    reads: AllRead,
    geometry: Read,
    alignment: Read,
    field: Read,
    output: Made,
    step: str,
    polarity: str | None = None,
) -> None:
    """Import the dataset of a step, inspect it, and print the findings.

    Parameters
    ----------
    source
        Column map (.yaml), or a pattern of tuning trees (.root). `reads` are the files that it names.
    output
        ``<step>.parquet``.
    polarity
        Of the field in tuning trees: up or down.
    """
    for taken in take_steps(
        source,
        output.parent,
        field=load_field(field),
        polarity=None if polarity is None else sign_of(polarity),
        steps=(step,),
        settle=settle,
        geometry=load_geometry(geometry, alignment),
        threads=1,
    ):
        say(str(taken), file=sys.stderr)
