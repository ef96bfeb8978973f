"""Rows of a step dataset as the fits want them: set by set, in blocks, most of them on disk.

The fits pass over the rows many times. They are sorted into one scratch file a parameter set first, so that
memory holds a block of rows and a sample, however many rows there are.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from parkf.codegen.numpy_step import BEFORE_COLUMNS, COLUMNS
from parkf.errors import ParkfError
from parkf.tables import STEP_DATA

Rows = dict[str, NDArray]
COMPONENTS = ("x", "y", "tx", "ty")
# Rows read from a dataset at once, and rows in a block: with what is computed from them it fits a cache.
BATCH = 131_072
BLOCK = 8192
# Particles are dealt into so many groups; see `group_of_particle`.
GROUPS = 4096
KEPT = (*COLUMNS, *(f"{c}{end}" for end in "1e" for c in COMPONENTS), "p_true", "group")


class StoredRows:
    """Rows of one parameter set, in a file of float64 blocks.

    Parameters
    ----------
    path : Path
        The file, which is written from scratch.
    columns : tuple of str
        Columns that are kept.
    """

    def __init__(self, path: Path, columns: tuple[str, ...] = KEPT) -> None:
        self._path = path
        self._columns = columns
        self._lengths: list[int] = []
        path.write_bytes(b"")

    def __len__(self) -> int:
        return sum(self._lengths)

    def append(self, rows: Rows) -> None:
        """Add rows."""
        with self._path.open("ab") as file:
            for begin in range(0, len(rows["qop"]), BLOCK):
                block = np.stack([rows[name][begin : begin + BLOCK] for name in self._columns])
                file.write(block.astype(np.float64).tobytes())
                self._lengths.append(block.shape[1])

    def blocks(self) -> Iterator[Rows]:
        """Yield all rows, block by block, in their order."""
        with self._path.open("rb") as file:
            for length in self._lengths:
                block = np.fromfile(file, np.float64, len(self._columns) * length)
                yield dict(zip(self._columns, block.reshape(-1, length), strict=True))

    def through_magnet(self, change: Callable[[Rows], Rows]) -> "StoredRows":
        """Rows after `change`, which adds where they began; block by block, in a file beside this one."""
        result = StoredRows(self._path.with_suffix(".changed"), KEPT + BEFORE_COLUMNS)
        for block in self.blocks():
            result.append(change(block))
        return result

    def sample(self, largest: int) -> Rows:
        """Every row, every second or third …: so many that they are not more than `largest`."""
        stride = max(1, -(-len(self) // largest))
        parts, position = [], 0
        for block in self.blocks():
            length = len(block["qop"])
            # Copies: a slice would keep its whole block in memory.
            parts.append(select(block, np.arange(-position % stride, length, stride)))
            position += length
        return {name: np.concatenate([part[name] for part in parts]) for name in self._columns}


def store_sets(batches: Iterable[Rows], count: int, joined: int, folder: Path) -> list[StoredRows]:
    """Sort rows by parameter set.

    Parameters
    ----------
    batches : iterable of dict of (n,) arrays
        Rows with the columns of :data:`parkf.tables.STEP_DATA`.
    count : int
        How many parameter sets the step has.
    joined : int
        How many sets of the dataset make one of the step.
    folder : Path
        Takes the scratch files.
    """
    stored = [StoredRows(folder / str(number)) for number in range(count)]
    for batch in batches:
        number = batch["set"] // joined
        rows = {**batch, "group": group_of_particle(batch)}
        for n in np.unique(number):
            stored[int(n)].append(select(rows, number == n))
    return stored


def read_batches(path: Path) -> Iterator[Rows]:
    """Read a step dataset: columns as float64, ``set``, ``event`` and ``particle`` as int64.

    Raises
    ------
    ParkfError
        When the table is not a step dataset, or a number in it is not finite.
    """
    begin = 0
    with STEP_DATA.open(path) as file:
        for batch in _record_batches(file):
            rows: Rows = {}
            for name, _ in STEP_DATA.columns:
                kind = np.int64 if name in ("set", "event", "particle") else np.float64
                rows[name] = batch.column(name).to_numpy(zero_copy_only=False).astype(kind)
                bad = np.flatnonzero(~np.isfinite(rows[name]))
                if len(bad):
                    value = rows[name][bad[0]]
                    raise ParkfError(
                        f"{path}: column '{name}' row {begin + bad[0]}: {value}, expected a finite number"
                    )
            begin += len(batch)
            yield rows


def _record_batches(file: pq.ParquetFile) -> Iterator[pa.RecordBatch]:
    """Read so many row groups at a time that they make a batch: in one go, Arrow would keep them all."""
    together: list[int] = []
    count = 0
    for group in range(file.num_row_groups):
        size = file.metadata.row_group(group).num_rows
        if together and count + size > BATCH:
            yield from file.iter_batches(batch_size=BATCH, row_groups=together)
            together, count = [], 0
        together.append(group)
        count += size
    yield from file.iter_batches(batch_size=BATCH, row_groups=together)


def group_of_particle(rows: Rows) -> NDArray[np.int64]:
    """Deal particles into `GROUPS` groups at random, (n,) int64.

    Rows of one particle are not independent; those of different groups are, and as many groups are enough to
    know the spread of their sums to 1%.
    """
    key = (2 * rows["event"] + (rows["polarity"] > 0)).astype(np.uint64)
    key = key * np.uint64(0x9E3779B97F4A7C15) + rows["particle"].astype(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        key = (key ^ (key >> np.uint64(shift))) * np.uint64(factor)
    group: NDArray[np.int64] = (key >> np.uint64(40)).astype(np.int64) % GROUPS
    return group


def select(rows: Rows, mask: NDArray) -> Rows:
    """Rows where `mask` holds, or with these indices."""
    return {name: column[mask] for name, column in rows.items()}


def runge_kutta_residual(predicted: tuple[NDArray, ...], rows: Rows, component: str) -> NDArray:
    """Form − Runge–Kutta, (n,), of one component."""
    return predicted[COMPONENTS.index(component)] - rows[f"{component}e"]


def truth_residual(predicted: tuple[NDArray, ...], rows: Rows, component: str) -> NDArray:
    """Form − truth, (n,), of one component."""
    return predicted[COMPONENTS.index(component)] - rows[f"{component}1"]
