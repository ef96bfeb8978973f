"""Stage ``datasets``: the rows of all chunks, set by set."""

from parkf.stages.files import AllMade, AllRead
from parkf.training.datasets.gather import gather_rows


def datasets(*, rows: AllRead, outputs: AllMade) -> None:
    """Join the rows of each step, ``<chunk>/<step>.parquet``, in its dataset, ``<step>.parquet``."""
    for output in outputs:
        gather_rows([part for part in rows if part.stem == output.stem], output, output.stem)
