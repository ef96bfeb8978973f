"""Step datasets of a chunk of a sample, and of all chunks together."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from tqdm import tqdm

from parkf.datasets.legs import SETS, TOGETHER, Legs
from parkf.datasets.lottery import lottery
from parkf.datasets.pieces import EVENTS_PER_PIECE, read_pieces
from parkf.datasets.rows import rows_of_legs
from parkf.datasets.thresholds import load_thresholds
from parkf.detector.field import FieldMap
from parkf.detector.geometry import Beam
from parkf.errors import ParkfError
from parkf.tables import STEP_DATA, RowGroupWriter

_ROWS_IN_GROUP = 1 << 13  # of a chunk's file; some of every set wait in memory


def build_rows(
    particles: Path,
    states: Path,
    thresholds: Path,
    folder: Path,
    *,
    beam: Beam,
    field: FieldMap,
    threads: int | None = None,
) -> None:
    """Write the rows of a chunk that are kept, ``<folder>/<step>.parquet``.

    Parameters
    ----------
    particles, states : Path
        Tables PARTICLES and STATES of the chunk, sorted by event and particle, of one polarity.
    thresholds : Path
        Of :func:`parkf.datasets.thresholds.find_thresholds`.
    folder : Path
        Takes the tables `parkf.tables.STEP_DATA`; a row group holds rows of one set, or of two that are
        `TOGETHER`, in the order of their tracks.
    beam : Beam
        The beam line.
    field : FieldMap
        The map of the sample.
    threads : int, optional
        All cores by default; the result does not depend on it.

    Raises
    ------
    ParkfError
        When files cannot be read or do not belong together.
    """
    limits = load_thresholds(thresholds)
    with ExitStack() as stack:
        writers = {
            step: _RowsBySet(stack.enter_context(STEP_DATA.writer(folder / f"{step}.parquet")), step)
            for step in SETS
        }
        bar = stack.enter_context(tqdm(desc="step datasets", unit=" events", disable=None))
        for piece in read_pieces(particles, states, beam):
            numbers = lottery(piece)
            for step, legs in piece.legs.items():
                kept = numbers[legs.origin] <= limits[step][legs.set]
                thinned = Legs(legs.origin[kept], legs.target[kept], legs.set[kept])
                writers[step].add(rows_of_legs(piece, thinned, step, beam=beam, field=field, threads=threads))
            bar.update(EVENTS_PER_PIECE)
        for writer in writers.values():
            writer.finish()


def gather_rows(parts: Sequence[Path], path: Path, step: str) -> None:
    """Write the rows of all chunks of a step's dataset, set by set.

    Parameters
    ----------
    parts : sequence of Path
        What :func:`build_rows` wrote for the step, in the order of samples and events.
    path : Path
        Table `parkf.tables.STEP_DATA`: row groups hold one set each, or two that are `TOGETHER`, in ascending
        order. Its bytes do not depend on where the parts end.
    step : str
        A key of `SETS`.

    Raises
    ------
    ParkfError
        When a part is missing, another table, or of rows in another order.
    """
    where: dict[int, list[tuple[Path, list[int]]]] = {}
    for part in parts:
        for number, groups in _groups_of_sets(part, step).items():
            where.setdefault(number, []).append((part, groups))
    with STEP_DATA.writer(path) as writer:
        for number in sorted(where):
            for part, groups in where[number]:
                with STEP_DATA.open(part) as file:
                    for group in groups:
                        writer.write_table(file.read_row_group(group))
            writer.flush()


class _RowsBySet:
    """Sorts rows into row groups of one set, or of two that lie together."""

    def __init__(self, writer: RowGroupWriter, step: str) -> None:
        self._writer = writer
        self._together = TOGETHER.get(step, 1)
        self._waiting: dict[int, list[pa.Table]] = {}

    def add(self, columns: dict[str, NDArray]) -> None:
        number = columns["set"] // self._together
        rows = pa.table(columns, schema=STEP_DATA.schema)
        begins = np.flatnonzero(np.diff(number, prepend=-1))
        for begin, end in zip(begins, [*begins[1:], len(number)], strict=True):
            waiting = self._waiting.setdefault(int(number[begin]), [])
            waiting.append(rows.slice(begin, end - begin))
            if sum(part.num_rows for part in waiting) >= _ROWS_IN_GROUP:
                self._write(waiting)

    def finish(self) -> None:
        for number in sorted(self._waiting):
            self._write(self._waiting[number])

    def _write(self, waiting: list[pa.Table]) -> None:
        for part in waiting:
            self._writer.write_table(part)
        self._writer.flush()
        waiting.clear()


def _groups_of_sets(path: Path, step: str) -> dict[int, list[int]]:
    """Row groups of a file by their sets."""
    found: dict[int, list[int]] = {}
    with STEP_DATA.open(path) as file:
        for group, (low, high) in enumerate(_sets(file)):
            number = low // TOGETHER.get(step, 1)
            if high // TOGETHER.get(step, 1) != number:
                raise ParkfError(
                    f"{path}: sets {low} to {high} in row group {group}, expected one set in each"
                )
            found.setdefault(number, []).append(group)
    return found


def _sets(file: pq.ParquetFile) -> Iterator[tuple[int, int]]:
    column = file.schema_arrow.get_field_index("set")
    for group in range(file.num_row_groups):
        statistics = file.metadata.row_group(group).column(column).statistics
        yield statistics.min, statistics.max
