"""Checks of a step dataset before a training: units, ranges, NaN, polarity, duplicates, coverage.

Everything that trains on a dataset reads it only after `check_dataset` has passed it, whether the file was
simulated here or brought by a user.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from parkf.io.arrow import numbers
from parkf.io.errors import ParkfError
from parkf.io.files import scratch_folder
from parkf.io.tables import STEP_DATA
from parkf.training.datasets.duplicates import KEY, Duplicates
from parkf.training.datasets.sets import SETS

FEWEST_ROWS = 100
"""Rows of a set below which its parameters cannot be fitted."""

_BATCH = 1 << 14
_POSITION_MAX = 10_000.0
_Z_RANGE = (-2_000.0, 13_000.0)
_SLOPE_MAX = 2.0
_P_RANGE = (100.0, 1e7)
_LARGEST_GAIN = 1.2
"""p at the origin over p at production; a particle loses energy, a backward step starts where it has less."""
_LARGEST_LOSS = 0.5


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
    rules += [
        _Rule((name,), _within(-_POSITION_MAX, _POSITION_MAX), f"mm, within ±{_POSITION_MAX:g}")
        for name in ("x0", "y0", "x1", "y1", "xe", "ye")
    ]
    rules += [
        _Rule((name,), _within(*_Z_RANGE), f"mm, between {_Z_RANGE[0]:g} and {_Z_RANGE[1]:g}")
        for name in ("z0", "z1")
    ]
    rules += [
        _Rule((name,), _within(-_SLOPE_MAX, _SLOPE_MAX), f"a slope dx/dz or dy/dz, within ±{_SLOPE_MAX:g}")
        for name in ("tx0", "ty0", "tx1", "ty1", "txe", "tye")
    ]
    return [
        *rules,
        _Rule(("p_true",), _within(*_P_RANGE), f"MeV, between {_P_RANGE[0]:g} and {_P_RANGE[1]:g}"),
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

    Memory holds a batch of rows; folder TMPDIR needs room for
    :func:`parkf.training.datasets.duplicates.scratch_bytes`.

    Raises
    ------
    ParkfError
        With file, column, row (from 0), what was found and what was expected.
    """
    if step not in SETS:
        raise ParkfError(f"no step '{step}'; steps are {', '.join(SETS)}")
    rules = _rules(step)
    rows_of_set = np.zeros(SETS[step], int)
    start = 0
    with STEP_DATA.open(path) as file, scratch_folder() as folder:
        duplicates = Duplicates(Path(folder), file.metadata.num_rows)
        for batch in file.iter_batches(batch_size=_BATCH):
            columns = _without_nulls(path, batch, start)
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
    _require_coverage(path, step, rows_of_set)
    return start


def _without_nulls(path: Path, batch: pa.RecordBatch, start: int) -> dict[str, np.ndarray]:
    """Columns of a batch whose first row is the `start`-th of the file."""
    for name in batch.schema.names:
        if batch.column(name).null_count:
            row = start + int(np.argmin(numbers(batch.column(name).is_valid())))
            raise ParkfError(f"{path}: column '{name}', row {row}: null, expected a value")
    return {name: numbers(batch.column(name)) for name in batch.schema.names}


def _require_coverage(path: Path, step: str, rows_of_set: np.ndarray) -> None:
    for index, count in enumerate(rows_of_set):
        if count < FEWEST_ROWS:
            raise ParkfError(
                f"{path}: set {index} of step {step} has {count} rows, expected at least {FEWEST_ROWS}; "
                "simulate more events"
            )
