"""Rows of a step dataset for the fits: set by set, in blocks, most of them on disk.

The fits read the rows many times. The rows are therefore first sorted into scratch files, one for each
parameter set. Memory then holds only a block of rows and a sample, no matter how many rows there are.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, groupby
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from parkf.io.arrow import numbers
from parkf.io.errors import ParkfError
from parkf.io.events import concatenate
from parkf.io.events import select as select
from parkf.io.tables import STEP_DATA
from parkf.model.codegen.numpy_step import BEFORE_COLUMNS, COLUMNS

F64 = NDArray[np.float64]
Rows = dict[str, NDArray[Any]]
COMPONENTS = ("x", "y", "tx", "ty")
# BATCH is the number of rows read from a dataset at once, BLOCK the number of rows in a block. A block and
# the arrays computed from it fit into a cache.
BATCH = 16_384
BLOCK = 8192
# Number of blocks in a stripe. Sums over rows are added up stripe by stripe. Each core works on one stripe at
# a time, for most of a second.
STRIPE = 64
# Number of rows in the sample of a set that Minuit works on. It determines the curvature to a few per cent.
SAMPLE = 10_000
# Number of groups that particles are distributed over; see `group_of_particle`.
GROUPS = 4096
KEPT = (*COLUMNS, *(f"{c}{end}" for end in "1e" for c in COMPONENTS), "p_true", "group")
# Number of a step's rows of displaced tracks, over the number of its other rows. A tenth doubles the misfit
# of long tracks' ty between stations, to 0.2 of the scattering. A hundredth leaves half of the misfit of
# displaced tracks.
DISPLACED_SHARE = 0.05
# UNREAD are the columns of a step dataset that no fit reads; _READ are all others.
UNREAD = ("pdg_id", "charge")
_READ = tuple(name for name, _ in STEP_DATA.columns if name not in UNREAD)


def scratch_bytes(rows: int, step: str) -> int:
    """Return the bytes in TMPDIR that the training of a step with this number of rows needs.

    These are 144 bytes for each row. UTTF's rows, 320 bytes, are kept before and behind the magnet. T's, 296
    bytes, are kept with and without those of displaced tracks.
    """
    copied = {"UTTF": len(KEPT) + len(BEFORE_COLUMNS), "T": (1 + DISPLACED_SHARE) * len(KEPT)}.get(step, 0)
    return round(rows * (len(KEPT) + copied) * np.dtype(np.float64).itemsize)


class StoredRows:
    """Rows of one parameter set, in a new file of float64 blocks.

    All blocks except the last have the same size, no matter in which portions rows were appended. Sums over
    blocks are therefore the same to the last bit.
    """

    def __init__(self, path: Path, columns: tuple[str, ...] = KEPT) -> None:
        self._path = path
        self._columns = columns
        self._blocks = 0
        self._rest = np.empty((len(columns), 0))
        path.write_bytes(b"")

    def __len__(self) -> int:
        return self._blocks * BLOCK + self._rest.shape[1]

    def append(self, rows: Rows) -> None:
        """Add rows."""
        waiting = np.concatenate([self._rest, np.stack([rows[name] for name in self._columns])], axis=1)
        whole = waiting.shape[1] // BLOCK
        with self._path.open("ab") as file:
            for begin in range(0, whole * BLOCK, BLOCK):
                waiting[:, begin : begin + BLOCK].tofile(file)
        self._blocks += whole
        self._rest = waiting[:, whole * BLOCK :].copy()

    def blocks(self, stripe: range | None = None) -> Iterator[Rows]:
        """Yield the rows of a stripe, or all rows, block by block, in their order."""
        wanted = range(self._blocks + 1) if stripe is None else stripe
        numbers = len(self._columns) * BLOCK
        with self._path.open("rb") as file:
            file.seek(wanted.start * numbers * np.dtype(np.float64).itemsize)
            for _ in range(wanted.start, min(wanted.stop, self._blocks)):
                block = np.fromfile(file, np.float64, numbers)
                yield dict(zip(self._columns, block.reshape(-1, BLOCK), strict=True))
        if self._blocks in wanted and self._rest.shape[1]:
            yield dict(zip(self._columns, self._rest, strict=True))

    def stripes(self) -> list[range]:
        """Return the numbers of the blocks of each stripe; together these are all blocks of the set."""
        return [range(begin, begin + STRIPE) for begin in range(0, self._blocks + 1, STRIPE)]

    def through_magnet(self, change: Callable[[Rows], Rows]) -> "StoredRows":
        """Apply `change` block by block; return the rows in a new file beside this one.

        `change` must add columns with the state at which the rows began.
        """
        result = StoredRows(self._path.with_suffix(".changed"), KEPT + BEFORE_COLUMNS)
        for block in self.blocks():
            result.append(change(block))
        return result

    def with_rows(self, more: Rows) -> "StoredRows":
        """Return these rows and more of them, in a new file beside this one."""
        result = StoredRows(self._path.with_suffix(".more"), self._columns)
        for block in chain(self.blocks(), [more]):
            result.append(block)
        return result

    def sample(self, largest: int) -> Rows:
        """Return every row, or every second, third … row, so that there are no more than `largest`."""
        stride = max(1, -(-len(self) // largest))
        parts, position = [], 0
        for block in self.blocks():
            length = len(block["qop"])
            # Make copies, because a slice would keep its whole block in memory.
            parts.append(select(block, np.arange(-position % stride, length, stride)))
            position += length
        return concatenate(parts)


def store_sets(batches: Iterable[Rows], sets: range, joined: int, folder: Path) -> list[StoredRows]:
    """Sort rows (:data:`parkf.io.tables.STEP_DATA`) by parameter set, into scratch files in a folder.

    `sets` are the wanted sets of the step. Each of them joins `joined` sets of the dataset.
    """
    stored = {number: StoredRows(folder / str(number)) for number in sets}
    for batch in batches:
        number = batch["set"] // joined
        rows = {**batch, "group": group_of_particle(batch)}
        for n in np.unique(number):
            if n in stored:
                stored[n].append(select(rows, number == n))
    return list(stored.values())


def read_batches(path: Path, sets: range | None = None, *, most: int | None = None) -> Iterator[Rows]:
    """Read a step dataset: columns as float64, ``set``, ``event`` and ``particle`` as int64.

    Row groups are left out if their statistics show that they hold none of the wanted `sets`. If a dataset
    has more than `most` rows, only every second, third … row group is read, so that not many more rows are
    read. A ParkfError is raised when the table is not a step dataset, or a number in it is not finite.
    """
    with STEP_DATA.open(path) as file:
        for begin, batch in _record_batches(file, sets, most):
            rows: Rows = {}
            for name in _READ:
                kind = np.int64 if name in ("set", "event", "particle") else np.float64
                rows[name] = numbers(batch.column(name)).astype(kind, copy=False)
                bad = np.flatnonzero(~np.isfinite(rows[name]))
                if len(bad):
                    place, value = f"column '{name}' row {begin + bad[0]}", rows[name][bad[0]]
                    raise ParkfError(f"{path}: {place}: {value}, expected a finite number")
            yield rows


def _record_batches(
    file: pq.ParquetFile, sets: range | None, most: int | None
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield batches of row groups that may hold some of the sets, each with the number of its first row."""
    groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
    begins = np.cumsum([0, *(group.num_rows for group in groups)])
    column = file.schema_arrow.get_field_index("set")
    wanted = [sets is None or _may_hold(group.column(column).statistics, sets) for group in groups]
    if most is not None:
        stride = -(-file.metadata.num_rows // most)
        wanted = [of_interest and number % stride == 0 for number, of_interest in enumerate(wanted)]
    for of_interest, run in groupby(range(len(groups)), lambda number: wanted[number]):
        if of_interest:
            together = list(run)
            begin = int(begins[together[0]])
            for batch in file.iter_batches(batch_size=BATCH, row_groups=together, columns=list(_READ)):
                yield begin, batch
                begin += len(batch)


def _may_hold(statistics: pq.Statistics | None, sets: range) -> bool:
    if statistics is None or not statistics.has_min_max:
        return True
    return bool(statistics.min < sets.stop and statistics.max >= sets.start)


def group_of_particle(rows: Rows) -> NDArray[np.int64]:
    """Distribute particles over `GROUPS` groups at random, (n,) int64.

    Rows of one particle are not independent, but rows of different groups are. With this number of groups
    the spread of their sums is known to 1%.
    """
    key = (2 * rows["event"] + (rows["polarity"] > 0)).astype(np.uint64)
    key = key * np.uint64(0x9E3779B97F4A7C15) + rows["particle"].astype(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        key = (key ^ (key >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray((key >> np.uint64(40)).astype(np.int64) % GROUPS)


def residuals(predicted: Sequence[NDArray[Any]], rows: Rows, end: Literal["e", "1"]) -> Rows:
    """Form − Runge–Kutta (end ``e``) or form − truth (end ``1``), (n,) of each component."""
    return {c: values - rows[f"{c}{end}"] for c, values in zip(COMPONENTS, predicted, strict=True)}
