"""Rows of a step dataset sorted into row groups of one parameter set as they come."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from parkf.io.arrow import column, table
from parkf.io.tables import STEP_DATA, RowGroupWriter
from parkf.training.datasets.sets import TOGETHER

_ROWS_IN_GROUP = 1 << 12  # small, because some rows of every set wait in memory


class RowsBySet:
    """Sorts rows into row groups of one set, or of two that lie together.

    Parameters
    ----------
    writer : RowGroupWriter
        Takes the row groups.
    step : str
        A key of `parkf.training.datasets.sets.SETS`.
    """

    def __init__(self, writer: RowGroupWriter, step: str) -> None:
        self._writer = writer
        self._together = TOGETHER.get(step, 1)
        self._waiting: dict[int, list[pa.Table]] = {}

    def add(self, columns: dict[str, NDArray[Any]]) -> None:
        """Add rows, (n,) each column of STEP_DATA; those of a set stay in their order."""
        number = columns["set"] // self._together
        order = np.argsort(number, kind="stable")
        rows = table(columns, STEP_DATA.schema)
        begins = np.flatnonzero(np.diff(number[order], prepend=-1))
        for begin, end in zip(begins, [*begins[1:], len(number)], strict=True):
            waiting = self._waiting.setdefault(int(number[order[begin]]), [])
            # Copies, because slices of a few rows of a rare set would keep all rows in memory.
            waiting.append(rows.take(column(order[begin:end], pa.int64())))
            if sum(part.num_rows for part in waiting) >= _ROWS_IN_GROUP:
                self._write(waiting)

    def finish(self) -> None:
        """Write what waits."""
        for number in sorted(self._waiting):
            self._write(self._waiting[number])

    def _write(self, waiting: list[pa.Table]) -> None:
        for part in waiting:
            self._writer.write_table(part)
        self._writer.flush()
        waiting.clear()
