"""Rows of a step dataset for the fits: set by set, in blocks, most of them on disk.

The fits read the rows many times. The rows are therefore first sorted into scratch files, one for each
parameter set. Memory then holds only a block of rows and a sample, no matter how many rows there are.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from itertools import chain, groupby
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from parkf.io.arrow import numbers
from parkf.io.errors import ParkfError
from parkf.io.events import concatenate
from parkf.io.events import select as select
from parkf.io.tables import STEP_DATA
from parkf.io.workers import parallel_map
from parkf.model.codegen.numpy_step import BEFORE_COLUMNS, COLUMNS

Result = TypeVar("Result")
F64 = NDArray[np.float64]
Rows = dict[str, NDArray[Any]]
COMPONENTS = ("x", "y", "tx", "ty")
# BATCH is the number of rows read from a dataset at once, BLOCK the number of rows in a block. A block and
# the arrays computed from it fit into a cache.
BATCH = 16_384
BLOCK = 8192
# Number of blocks in a stripe. Sums over rows are added up stripe by stripe.
STRIPE = 64
# Largest number of stripes that a process works on. It takes some tenths of a second, much longer than the
# start of a process.
STRIPES = 8
# Number of rows in the sample of a set that Minuit works on. It determines the curvature to a few per cent.
SAMPLE = 10_000
# Number of groups that events are distributed over (see `group_of_event`). The spread of their sums is then
# known to 1%. Fewer events than FEWEST_EVENTS do not show how much they differ.
GROUPS, FEWEST_EVENTS = 4096, 100
KEPT = (*COLUMNS, *(f"{c}{end}" for end in "1e" for c in COMPONENTS), "p_true", "group")
# Number of a step's rows of displaced tracks, over the number of its other rows. A tenth doubles the misfit
# of long tracks' ty between stations, to 0.2 of the scattering. A hundredth leaves half of the misfit of
# displaced tracks.
DISPLACED_SHARE = 0.05
# Columns of a step dataset that fits read.
_READ = [name for name, _ in STEP_DATA.columns if name not in ("pdg_id", "charge")]


class StoredRows:
    """Rows of one parameter set, in a new file of float64 blocks.

    All blocks except the last have the same size, no matter in which portions rows were appended. Sums over
    blocks are therefore the same to the last bit. Passes over the rows are shared among `workers` processes,
    which do not change results.
    """

    def __init__(self, path: Path, columns: tuple[str, ...] = KEPT, workers: int = 1) -> None:
        self._path = path
        self._columns = columns
        self._workers = workers
        self._rows = 0
        path.write_bytes(b"")

    def __len__(self) -> int:
        return self._rows

    def append(self, rows: Rows) -> None:
        """Add rows."""
        begin, end = self._rows, self._rows + len(rows["qop"])
        with self._path.open("r+b") as file:
            for column, name in enumerate(self._columns):
                values = np.ascontiguousarray(rows[name], np.float64)
                for low in (begin, *range(begin - begin % BLOCK + BLOCK, end, BLOCK)):
                    block, place = divmod(low, BLOCK)
                    file.seek(self._byte(block, column, place))
                    file.write(values[low - begin : low - place + BLOCK - begin].data)
        self._rows = end

    def blocks(self, stripe: range | None = None) -> Iterator[Rows]:
        """Yield the rows of a stripe, or all rows, block by block, in their order."""
        count = -(-self._rows // BLOCK)
        wanted = range(count) if stripe is None else range(stripe.start, min(stripe.stop, count))
        with self._path.open("rb") as file:
            file.seek(self._byte(wanted.start))
            for number in wanted:
                block = np.empty((len(self._columns), BLOCK))
                # The file ends with the last row of the last column, and its last block need not be full.
                file.readinto(block.data)
                yield dict(zip(self._columns, block[:, : self._rows - number * BLOCK], strict=True))

    def _byte(self, block: int, column: int = 0, place: int = 0) -> int:
        number = (block * len(self._columns) + column) * BLOCK + place
        return number * np.dtype(np.float64).itemsize

    def by_stripe(self, function: Callable[[range], Result]) -> Iterator[Result]:
        """Yield the function of every stripe, in order; the workers share the stripes."""
        count = -(-self._rows // BLOCK)
        stripes = [range(begin, begin + STRIPE) for begin in range(0, count, STRIPE)]
        length = max(1, min(STRIPES, -(-len(stripes) // self._workers)))
        runs = [stripes[begin : begin + length] for begin in range(0, len(stripes), length)]
        # A single run is not worth another process.
        results = parallel_map(
            lambda run: [function(stripe) for stripe in run], runs, self._workers if len(runs) > 1 else 1
        )
        return chain.from_iterable(results)

    def changed(self, change: Callable[[Rows], Rows]) -> "StoredRows":
        """Apply `change` block by block; return the rows in a new file beside this one.

        `change` must add columns with the state at which the rows began, and may keep only some of the rows.
        """
        result = StoredRows(self._path.with_suffix(".changed"), KEPT + BEFORE_COLUMNS, self._workers)
        for block in self.blocks():
            result.append(change(block))
        return result

    def with_rows(self, more: Rows) -> Self:
        """Return these rows and more of them, in the same file."""
        result = copy(self)
        result.append(more)
        return result

    def sample(self, largest: int) -> Rows:
        """Return every row, or every second, third … row, so that there are no more than `largest`."""
        stride = max(1, -(-len(self) // largest))

        def of_stripe(stripe: range) -> Rows:
            blocks = enumerate(self.blocks(stripe), stripe.start)
            # Make copies, because a slice would keep its whole block in memory.
            return concatenate(
                [
                    select(block, np.arange(-number * BLOCK % stride, len(block["qop"]), stride))
                    for number, block in blocks
                ]
            )

        return concatenate(list(self.by_stripe(of_stripe)))


def store_sets(
    batches: Iterable[Rows], sets: range, joined: int, folder: Path, workers: int = 1
) -> list[StoredRows]:
    """Sort rows (:data:`parkf.io.tables.STEP_DATA`) by parameter set, into scratch files in a folder.

    `sets` are the wanted sets of the step. Each of them joins `joined` sets of the dataset. `workers` share
    later passes over the rows.
    """
    stored = {number: StoredRows(folder / str(number), workers=workers) for number in sets}
    for batch in batches:
        number = batch["set"] // joined
        rows = {**batch, "group": group_of_event(batch)}
        for n in np.unique(number):
            if n in stored:
                mine = number == n
                stored[n].append(rows if mine.all() else select(rows, mine))
    return list(stored.values())


def read_batches(path: Path, sets: range | None = None, *, most: int | None = None) -> Iterator[Rows]:
    """Read a step dataset for fits: columns as float64, ``set``, ``event`` and ``particle`` as int64.

    Row groups are left out if their statistics show that they hold none of the wanted `sets`. If they
    have more than `most` rows, only every second, third … row group is read, so that not many more rows are
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
    wanted = [
        number
        for number, group in enumerate(groups)
        if sets is None or _may_hold(group.column(column).statistics, sets)
    ]
    if most is not None:
        rows = sum(groups[number].num_rows for number in wanted)
        wanted = wanted[:: max(1, -(-rows // most))]
    # Row groups that follow each other are read together.
    for _, run in groupby(enumerate(wanted), lambda item: item[1] - item[0]):
        together = [number for _, number in run]
        begin = int(begins[together[0]])
        for batch in file.iter_batches(batch_size=BATCH, row_groups=together, columns=_READ):
            yield begin, batch
            begin += len(batch)


def _may_hold(statistics: pq.Statistics | None, sets: range) -> bool:
    if statistics is None or not statistics.has_min_max:
        return True
    return bool(statistics.min < sets.stop and statistics.max >= sets.start)


def group_of_event(rows: Rows) -> NDArray[np.int64]:
    """Distribute events over `GROUPS` groups at random, (n,) int64.

    Rows of one event are not independent: its particles share vertices, and a particle may have several rows.
    Rows of different groups are. Where nearly all rows are of the same events, as those of a particle gun may
    be, particles are distributed instead.
    """
    if not len(rows["event"]) or np.ptp(rows["event"]) < FEWEST_EVENTS:
        return group_of_particle(rows)
    return _hash_to_groups((2 * rows["event"] + (rows["polarity"] > 0)).astype(np.uint64))


def group_of_particle(rows: Rows) -> NDArray[np.int64]:
    """Distribute particles over `GROUPS` groups at random, (n,) int64."""
    event = (2 * rows["event"] + (rows["polarity"] > 0)).astype(np.uint64)
    return _hash_to_groups(event * np.uint64(0x9E3779B97F4A7C15) + rows["particle"].astype(np.uint64))


def _hash_to_groups(key: NDArray[np.uint64]) -> NDArray[np.int64]:
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        key = (key ^ (key >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray((key >> np.uint64(40)).astype(np.int64) % GROUPS)


def residuals(predicted: Sequence[NDArray[Any]], rows: Rows, end: Literal["e", "1"]) -> Rows:
    """Form − Runge–Kutta (end ``e``) or form − truth (end ``1``), (n,) of each component."""
    return {c: values - rows[f"{c}{end}"] for c, values in zip(COMPONENTS, predicted, strict=True)}
