"""Checks of a step dataset before a training: units, ranges, NaN, polarity, duplicates, coverage.

A training reads a dataset only after `check_dataset` has passed it, whether the file was simulated here or
comes from a user.

To find duplicates, rows are distributed over scratch files by a hash of their key. Duplicates are then in the
same file, and each file fits into memory.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from parkf.io.arrow import numbers
from parkf.io.errors import ParkfError
from parkf.io.files import require_space, scratch_folder
from parkf.io.tables import STEP_DATA
from parkf.training.datasets.legs import SETS

FEWEST_ROWS = 100
"""Rows of a set below which its parameters cannot be fitted."""

_BATCH = 1 << 14
# Columns, their smallest and largest value, and what a message expects there.
_RANGES = (
    ("x0 y0 x1 y1 xe ye", -10_000.0, 10_000.0, "mm, within ±10000"),
    ("z0 z1", -2_000.0, 13_000.0, "mm, between -2000 and 13000"),
    ("tx0 ty0 tx1 ty1 txe tye", -2.0, 2.0, "a slope dx/dz or dy/dz, within ±2"),
    ("p_true", 100.0, 1e7, "MeV, between 100 and 1e+07"),
)
# Limits of p at the origin over p at production. A particle loses energy on its way, so a backward step
# starts with less.
_LARGEST_LOSS, _LARGEST_GAIN = 0.5, 1.2
KEY = ("event", "particle", "polarity", "set", "z0", "z1")
# Mean number of rows in a scratch file, and number of rows that are distributed at a time.
ROWS_OF_FILE = 1 << 17
_ENTRY = np.dtype(
    [(name, kind.to_pandas_dtype()) for name, kind in STEP_DATA.columns if name in KEY] + [("row", np.int64)]
)


# A condition: its columns, a function of these columns, and the text of what a message expects.
_Rule = tuple[tuple[str, ...], Callable[..., np.ndarray], str]


def _within(low: float, high: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda values: (values >= low) & (values <= high)


def _rules(step: str) -> list[_Rule]:
    rules: list[_Rule] = [
        ((name,), np.isfinite, "a finite number")
        for name, kind in STEP_DATA.columns
        if kind.to_pandas_dtype() == np.float64
    ]
    for names, low, high, expected in _RANGES:
        rules += [((name,), _within(low, high), expected) for name in names.split()]
    return [
        *rules,
        (("polarity",), lambda polarity: np.abs(polarity) == 1, "+1 (MagUp) or -1 (MagDown)"),
        (("set",), _within(0, SETS[step] - 1), f"a set of step {step}, 0 to {SETS[step] - 1}"),
        (("charge",), lambda charge: charge != 0, "not 0"),
        (("qop", "charge"), lambda qop, charge: qop * charge > 0, "q/p at production with the charge's sign"),
        (
            ("p_true", "charge", "qop"),
            lambda p, charge, qop: _within(_LARGEST_LOSS, _LARGEST_GAIN)(p * np.abs(qop / charge)),
            f"MeV, {_LARGEST_LOSS:g} to {_LARGEST_GAIN:g} times p at production from q/p in 1/MeV",
        ),
        (("z0", "z1"), lambda z0, z1: z0 != z1, "another z than the origin's"),
    ]


def check_dataset(path: Path, step: str) -> int:
    """Refuse a step dataset that cannot be trained on; return its number of rows.

    The ParkfError names file, column, row (from 0), the value found and the value expected. Memory holds a
    batch of rows; folder TMPDIR needs room for :func:`parkf.training.datasets.checks.scratch_bytes`.
    """
    if step not in SETS:
        raise ParkfError(f"no step '{step}'; steps are {', '.join(SETS)}")
    rules = _rules(step)
    rows_of_set = np.zeros(SETS[step], int)
    start = 0
    with STEP_DATA.open(path) as file, scratch_folder() as folder:
        duplicates = Duplicates(Path(folder), file.metadata.num_rows)
        for batch in file.iter_batches(batch_size=_BATCH):
            for name in batch.schema.names:
                if batch.column(name).null_count:
                    row = start + int(np.argmin(numbers(batch.column(name).is_valid())))
                    raise ParkfError(f"{path}: column '{name}', row {row}: null, expected a value")
            columns = {name: numbers(batch.column(name)) for name in batch.schema.names}
            for names, holds, expected in rules:
                good = holds(*(columns[name] for name in names))
                if not good.all():
                    row = int(np.argmin(good))
                    got = ", ".join(f"{name} = {columns[name][row]:g}" for name in names)
                    place = f"{path}: column '{names[0]}', row {start + row}"
                    raise ParkfError(f"{place}: got {got}, expected {expected}")
            rows_of_set += np.bincount(columns["set"], minlength=SETS[step])
            duplicates.add(columns, start)
            start += batch.num_rows
        pair = duplicates.first()
    if pair is not None:
        raise ParkfError(
            f"{path}: rows {pair[0]} and {pair[1]} are the same (equal {', '.join(KEY)}), expected it once"
        )
    for index, count in enumerate(rows_of_set):
        if count < FEWEST_ROWS:
            found = f"set {index} of step {step} has {count} rows"
            raise ParkfError(f"{path}: {found}, expected at least {FEWEST_ROWS}; simulate more events")
    return start


def scratch_bytes(rows: int) -> int:
    """Bytes in TMPDIR that the search for duplicates among this number of rows needs."""
    return rows * _ENTRY.itemsize


class Duplicates:
    """The keys of a dataset's rows, in files of a scratch folder."""

    def __init__(self, folder: Path, rows: int) -> None:
        require_space(
            folder.parent, scratch_bytes(rows), "the search for rows that are there twice, in TMPDIR,"
        )
        self._folder = folder
        self._count = max(1, -(-rows // ROWS_OF_FILE))
        self._waiting: list[NDArray[Any]] = []

    def add(self, columns: dict[str, NDArray[Any]], begin: int) -> None:
        """Add rows, (n,) each column, of which the first is the `begin`-th of the dataset."""
        entries = np.empty(len(columns["event"]), _ENTRY)
        for name in KEY:
            entries[name] = columns[name]
        entries["row"] = np.arange(begin, begin + len(entries))
        self._waiting.append(entries)
        if sum(map(len, self._waiting)) >= ROWS_OF_FILE:
            self._deal()

    def first(self) -> tuple[int, int] | None:
        """Return two rows that are the same, the earlier one first; None where there are none."""
        self._deal()
        for path in (self._folder / str(file) for file in range(self._count)):
            if not path.is_file():
                continue
            entries = np.fromfile(path, _ENTRY)
            # Rows with equal hashes are compared, since their keys may differ.
            frame = pd.DataFrame(entries[pd.Series(_hash(entries)).duplicated(keep=False)])
            same = frame[frame.duplicated(list(KEY), keep=False)].sort_values([*reversed(KEY), "row"])
            if len(same):
                return int(same["row"].iloc[0]), int(same["row"].iloc[1])
        return None

    def _deal(self) -> None:
        """Write the waiting rows to the files."""
        entries = np.concatenate([np.empty(0, _ENTRY), *self._waiting])
        self._waiting = []
        number = _hash(entries) % np.uint64(self._count)
        for file in np.unique(number):
            with (self._folder / str(file)).open("ab") as stream:
                entries[number == file].tofile(stream)


def _hash(entries: NDArray[Any]) -> NDArray[np.uint64]:
    hashes = np.zeros(len(entries), np.uint64)
    for name in KEY:
        # Minus zero and zero are equal but differ in a bit. Adding zero makes them the same.
        column = entries[name] + entries[name].dtype.type(0)
        hashes = np.uint64(0x9E3779B97F4A7C15) * (hashes ^ pd.util.hash_array(column))
    return hashes ^ (hashes >> np.uint64(32))
