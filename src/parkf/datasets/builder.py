"""Step datasets of a chunk of a sample."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from tqdm import tqdm

from parkf.datasets.legs import Legs
from parkf.datasets.lottery import lottery
from parkf.datasets.pieces import EVENTS_PER_PIECE, read_pieces
from parkf.datasets.rows import rows_of_legs
from parkf.datasets.sets import SETS, TOGETHER
from parkf.datasets.thresholds import load_thresholds
from parkf.detector.description import Beam
from parkf.detector.field import FieldMap
from parkf.tables import STEP_DATA, RowGroupWriter

_ROWS_IN_GROUP = 1 << 12  # of a chunk's file; some of every set wait in memory


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


class _RowsBySet:
    """Sorts rows into row groups of one set, or of two that lie together."""

    def __init__(self, writer: RowGroupWriter, step: str) -> None:
        self._writer = writer
        self._together = TOGETHER.get(step, 1)
        self._waiting: dict[int, list[pa.Table]] = {}

    def add(self, columns: dict[str, NDArray[Any]]) -> None:
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
