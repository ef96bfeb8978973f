"""Candidates from files, batch by batch."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parkf.fit.candidates import Candidates, check_rows, from_arrow
from parkf.io.tables import MEASURED

if TYPE_CHECKING:
    import pyarrow as pa


def read_batches(
    paths: Sequence[Path], precision: str = "float32", size: int = MEASURED.rows_in_group
) -> Iterator[tuple["pa.RecordBatch", Candidates]]:
    """Yield rows of tables ``candidates`` and the candidates in them, up to `size` at a time.

    A ParkfError names a row without a value or with a wrong polarity, and a column in another unit.
    """
    for path in paths:
        with MEASURED.open(path) as file:
            count = 0
            for rows in file.iter_batches(batch_size=size):
                check_rows(rows, path, count)
                count += rows.num_rows
                yield rows, from_arrow(rows, precision)
