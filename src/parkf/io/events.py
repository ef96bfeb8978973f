"""Tables sorted by event: reading in pieces of whole events, and rows of their columns."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from parkf.io.arrow import numbers
from parkf.io.errors import ParkfError
from parkf.io.tables import Table

Columns = dict[str, NDArray[Any]]
"""Columns of a table by name, (n,) each."""

_ROWS_AT_ONCE = 1 << 15


def read_by_event(
    table: Table, path: Path, *, events: int, rows: int = 0, columns: list[str] | None = None
) -> Iterator[Columns]:
    """Yield the pieces of :func:`tables_by_event` as arrays by column; arguments and errors are the same."""
    for piece in tables_by_event(table, path, events=events, rows=rows, columns=columns):
        arrays = {name: numbers(piece.column(name)) for name in piece.column_names}
        # A piece is freed before the next one is read, here and below, so that memory never holds two.
        del piece
        yield arrays
        del arrays


def tables_by_event(
    table: Table, path: Path, *, events: int, rows: int = 0, columns: list[str] | None = None
) -> Iterator[pa.Table]:
    """Yield the rows of events 0 to `events` - 1, then of the next `events`, and so on; skip empty pieces.

    Pieces with fewer than `rows` rows are joined with the next ones, since many small pieces take longer. The
    column ``event`` must ascend, and `columns` (by default all) must contain it. A ParkfError reports a
    file that is not the table, or not sorted by event.
    """
    file = table.open(path)
    pending: list[pa.RecordBatch] = []
    last, boundary = -1, 0
    for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE, columns=columns):
        event = numbers(batch.column("event"))
        if len(event) == 0:
            continue
        if event[0] < last or np.any(np.diff(event) < 0):
            raise ParkfError(f"{path}: rows are not sorted by event")
        last = event[-1]
        while True:
            if not pending:
                boundary = (int(event[0]) // events + 1) * events
            cut = int(np.searchsorted(event, boundary))
            pending.append(batch.slice(0, cut))
            if cut == len(event):
                break
            batch, event = batch.slice(cut), event[cut:]
            if sum(part.num_rows for part in pending) < rows:
                boundary = (int(event[0]) // events + 1) * events
                continue
            piece, pending = pa.Table.from_batches(pending), []
            yield piece
            del piece
    if pending:
        yield pa.Table.from_batches(pending)


def count_events(columns: Mapping[str, NDArray[Any]]) -> int:
    """Return how many events have rows, which are sorted by the column `event`."""
    event = columns["event"]
    return int(np.count_nonzero(np.diff(event, prepend=event[0] - 1)))


def particle_key(columns: Mapping[str, NDArray[Any]]) -> NDArray[np.int64]:
    """Return a number for each particle, (n,), in ascending order of the columns `event` and `particle`."""
    event = columns["event"].astype(np.int64)
    if len(event) and event.max() >> 31:
        raise ParkfError(
            f"event {event.max()}: expected event numbers below 2147483648 beside particles; number the"
            " events from 0"
        )
    return event << 32 | columns["particle"]


def select(columns: Mapping[str, NDArray[Any]], rows: NDArray[Any] | slice) -> Columns:
    """Return the rows of all columns that a mask or row numbers select."""
    return {name: values[rows] for name, values in columns.items()}


def concatenate(parts: Sequence[Mapping[str, NDArray[Any]]]) -> Columns:
    """Concatenate the columns of several tables; the first table determines which columns."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
