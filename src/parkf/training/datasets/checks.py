"""Checks of a step dataset before a training: units, ranges, NaN, polarity, duplicates, coverage.

Everything that trains on a dataset reads it only after `check_dataset` has passed it, whether the file was
simulated here or brought by a user.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from parkf.io.arrow import numbers
from parkf.io.errors import ParkfError
from parkf.io.files import scratch_folder
from parkf.io.tables import STEP_DATA
from parkf.training.datasets.duplicates import KEY, Duplicates
from parkf.training.datasets.sets import SETS

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
# Limits of p at the origin over p at production; a particle loses energy, and a backward step starts where it
# has less.
_LARGEST_LOSS, _LARGEST_GAIN = 0.5, 1.2


class _Rule(NamedTuple):
    """A condition on the columns of a batch."""

    columns: tuple[str, ...]
    holds: Callable[..., np.ndarray]
    expected: str


def _within(low: float, high: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda values: (values >= low) & (values <= high)


def _rules(step: str) -> list[_Rule]:
    rules = [
        _Rule((name,), np.isfinite, "a finite number")
        for name, kind in STEP_DATA.columns
        if kind.to_pandas_dtype() == np.float64
    ]
    for names, low, high, expected in _RANGES:
        rules += [_Rule((name,), _within(low, high), expected) for name in names.split()]
    return [
        *rules,
        _Rule(("polarity",), lambda polarity: np.abs(polarity) == 1, "+1 (MagUp) or -1 (MagDown)"),
        _Rule(("set",), _within(0, SETS[step] - 1), f"a set of step {step}, 0 to {SETS[step] - 1}"),
        _Rule(("charge",), lambda charge: charge != 0, "not 0"),
        _Rule(
            ("qop", "charge"),
            lambda qop, charge: qop * charge > 0,
            "q/p at production with the charge's sign",
        ),
        _Rule(
            ("p_true", "charge", "qop"),
            lambda p, charge, qop: _within(_LARGEST_LOSS, _LARGEST_GAIN)(p * np.abs(qop / charge)),
            f"MeV, {_LARGEST_LOSS:g} to {_LARGEST_GAIN:g} times p at production from q/p in 1/MeV",
        ),
        _Rule(("z0", "z1"), lambda z0, z1: z0 != z1, "another z than the origin's"),
    ]


def check_dataset(path: Path, step: str) -> int:
    """Refuse a step dataset that cannot be trained on; return its number of rows.

    The ParkfError names file, column, row (from 0), the value found and the value expected. Memory holds a
    batch of rows; folder TMPDIR needs room for :func:`parkf.training.datasets.duplicates.scratch_bytes`.
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
            for rule in rules:
                good = rule.holds(*(columns[name] for name in rule.columns))
                if not good.all():
                    row = int(np.argmin(good))
                    got = ", ".join(f"{name} = {columns[name][row]:g}" for name in rule.columns)
                    place = f"{path}: column '{rule.columns[0]}', row {start + row}"
                    raise ParkfError(f"{place}: got {got}, expected {rule.expected}")
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
            raise ParkfError(
                f"{path}: set {index} of step {step} has {count} rows, expected at least {FEWEST_ROWS}; "
                "simulate more events"
            )
    return start
