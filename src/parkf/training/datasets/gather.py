"""Row groups of one parameter set each: sorting the rows of a chunk into them, and joining chunks."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from parkf.io.arrow import column, table
from parkf.io.tables import STEP_DATA, RowGroupWriter, Table
from parkf.training.datasets.legs import TOGETHER

_ROWS_IN_GROUP = 1 << 12  # small, because some rows of every set wait in memory


class RowsBySet:
    """Sorts rows of a step into row groups of one set, or of two that are `TOGETHER`."""

    def __init__(self, writer: RowGroupWriter, step: str, table: Table = STEP_DATA) -> None:
        self._writer = writer
        self._schema = table.schema
        self._together = TOGETHER.get(step, 1)
        self._waiting: dict[int, list[pa.Table]] = {}

    def add(self, columns: dict[str, NDArray[Any]]) -> None:
        """Add rows, (n,) each column of STEP_DATA; those of a set stay in their order."""
        number, rows = columns["set"] // self._together, table(columns, self._schema)
        for n in np.unique(number):
            waiting = self._waiting.setdefault(int(n), [])
            # Make copies, because slices of a few rows of a rare set would keep all rows in memory.
            waiting.append(rows.take(column(np.flatnonzero(number == n), pa.int64())))
            if sum(part.num_rows for part in waiting) >= _ROWS_IN_GROUP:
                self._write(waiting)

    def finish(self) -> None:
        """Write the rows that wait."""
        for number in sorted(self._waiting):
            self._write(self._waiting[number])

    def _write(self, waiting: list[pa.Table]) -> None:
        for part in waiting:
            self._writer.write_table(part)
        self._writer.flush()
        waiting.clear()


def gather_rows(
    parts: Sequence[Path],
    path: Path,
    step: str,
    *,
    without: NDArray[np.int64] | None = None,
) -> None:
    """Write the rows of all chunks of a step's dataset, set by set, to a table `parkf.io.tables.STEP_DATA`.

    `parts` are files of :func:`build_rows`, in the order of samples and events. Row groups at `path` hold one
    set each, or two that are `TOGETHER`, in ascending order. Its bytes do not depend on where the parts end.
    Of a single part, rows with the ascending numbers `without` are left out.
    """
    # Row groups by their sets, and then by their files.
    where: dict[int, dict[Path, list[int]]] = {}
    for part in parts:
        with STEP_DATA.open(part) as file:
            column_of_sets = file.schema_arrow.get_field_index("set")
            for group in range(file.num_row_groups):
                sets = file.metadata.row_group(group).column(column_of_sets).statistics
                number = sets.min // TOGETHER.get(step, 1)
                where.setdefault(number, {}).setdefault(part, []).append(group)
    with STEP_DATA.writer(path) as writer:
        for number in sorted(where):
            for rows in _read(where[number], without):
                writer.write_table(rows)
            writer.flush()


def _read(groups: dict[Path, list[int]], without: NDArray[np.int64] | None) -> Iterator[pa.Table]:
    names = STEP_DATA.schema.names
    for part, numbers in groups.items():
        with STEP_DATA.open(part) as file:
            counts = [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)]
            begins = np.cumsum([0, *counts])
            for number in numbers:
                rows = file.read_row_group(number, columns=names)
                yield rows if without is None else leave_out(rows, without, int(begins[number]))


Batch = TypeVar("Batch", pa.Table, pa.RecordBatch)


def leave_out(rows: Batch, without: NDArray[np.int64], begin: int) -> Batch:
    """Return rows without those of these ascending numbers; the first row has the number `begin`."""
    low, high = np.searchsorted(without, [begin, begin + rows.num_rows])
    if low == high:
        return rows
    kept = np.delete(np.arange(rows.num_rows), without[low:high] - begin)
    return rows.take(column(kept, pa.int64()))
