"""Checks of a step dataset before a training: units, ranges, NaN, polarity, duplicates, coverage.

A training reads a dataset only after `check_dataset` has passed it, whether the file was simulated here or
comes from a user.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from parkf.io.arrow import numbers
from parkf.io.checks import POLARITY, Rule, finite, require, require_no_nulls, within
from parkf.io.errors import ParkfError
from parkf.io.events import Columns
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


def _rules(step: str) -> list[Rule]:
    rules = finite(*(name for name, kind in STEP_DATA.fields if kind == np.float64))
    for names, low, high, expected in _RANGES:
        rules += [(name, within(low, high), expected) for name in names.split()]
    return [
        *rules,
        POLARITY,
        ("set", within(0, SETS[step] - 1), f"a set of step {step}, 0 to {SETS[step] - 1}"),
        ("charge", lambda charge: charge != 0, "not 0"),
        ("qop charge", lambda qop, charge: qop * charge > 0, "q/p at production with the charge's sign"),
        (
            "p_true charge qop",
            lambda p, charge, qop: within(_LARGEST_LOSS, _LARGEST_GAIN)(p * np.abs(qop / charge)),
            f"MeV, {_LARGEST_LOSS:g} to {_LARGEST_GAIN:g} times p at production from q/p in 1/MeV",
        ),
        ("z0 z1", lambda z0, z1: z0 != z1, "another z than the origin's"),
    ]


def check_dataset(path: Path, step: str) -> int:
    """Refuse a step dataset that cannot be trained on; return its number of rows.

    The ParkfError names file, column, row (from 0), the value found and the value expected. Memory holds a
    batch of rows, and 8 bytes for each row of the file.
    """
    if step not in SETS:
        raise ParkfError(f"no step '{step}'; steps are {', '.join(SETS)}")
    rules = _rules(step)
    rows_of_set = np.zeros(SETS[step], int)
    start = 0
    with STEP_DATA.open(path) as file:
        hashes = np.empty(file.metadata.num_rows, np.uint64)
        for batch in file.iter_batches(batch_size=_BATCH):
            require_no_nulls(path, batch, batch.schema.names, start)
            columns = {name: numbers(batch.column(name)) for name in batch.schema.names}
            require(path, columns, *rules, begin=start)
            rows_of_set += np.bincount(columns["set"], minlength=SETS[step])
            hashes[start : start + batch.num_rows] = _hashes(columns)
            start += batch.num_rows
    hashes.sort()
    _require_once(path, hashes[1:][hashes[1:] == hashes[:-1]])
    for index, count in enumerate(rows_of_set):
        if count < FEWEST_ROWS:
            found = f"set {index} of step {step} has {count} rows"
            raise ParkfError(f"{path}: {found}, expected at least {FEWEST_ROWS}; simulate more events")
    return start


def _hashes(columns: Columns) -> NDArray[np.uint64]:
    """Hash the keys of rows, (n,). Minus zero and zero are equal; adding zero makes their bits the same."""
    keys = pd.DataFrame({name: columns[name] + 0 for name in KEY})
    return np.asarray(pd.util.hash_pandas_object(keys, index=False), np.uint64)


def _require_once(path: Path, several: NDArray[np.uint64]) -> None:
    """Raise a ParkfError that has two rows with the same key; hashes of some rows are the same, `several`."""
    if not len(several):
        return
    # Rows with equal hashes are compared, since their keys may differ.
    start, found = 0, []
    with STEP_DATA.open(path) as file:
        for batch in file.iter_batches(batch_size=_BATCH, columns=list(KEY)):
            keys = {name: numbers(batch.column(name)) for name in KEY}
            rows = pd.RangeIndex(start, start + batch.num_rows)
            found.append(pd.DataFrame(keys, rows)[np.isin(_hashes(keys), several)])
            start += batch.num_rows
    those = pd.concat(found)
    same = those[those.duplicated(keep=False)].sort_values([*reversed(KEY)], kind="stable").index
    if len(same):
        raise ParkfError(
            f"{path}: rows {same[0]} and {same[1]} are the same (equal {', '.join(KEY)}), expected it once"
        )
