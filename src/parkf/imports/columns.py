"""Columns of foreign ROOT trees, Parquet and CSV files: reading, checks of their numbers, and units.

Messages name the file, the column, and the first number that is wrong. This project's units are mm, MeV,
1/MeV, T and slopes; a polarity is +1 or -1.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from parkf.io.arrow import numbers, type_of
from parkf.io.checksums import CheckedFile
from parkf.io.errors import ParkfError
from parkf.io.events import Columns
from parkf.io.files import existing
from parkf.io.root_files import flat, open_tree, require_branches, require_names

ROWS = 1 << 16
LENGTHS = {"mm": 1.0, "cm": 10.0, "m": 1000.0, "um": 1e-3}
MOMENTA = {"MeV": 1.0, "GeV": 1000.0}
Q_OVER_P = {"1/MeV": 1.0, "1/GeV": 1e-3}
SLOPES = {"1": 1.0, "mrad": 1e-3}
# Gaudi's unit of magnetic flux density: one tesla is the number 0.001.
FIELDS = {"T": 1.0, "kG": 0.1, "G": 1e-4, "Gaudi": 1000.0}
_SIGNS = {"up": 1, "down": -1}


def read_tuple(path: Path, columns: Sequence[str], tree: str | None = None) -> Iterator[Columns]:
    """Read columns of a ``.root``, ``.parquet`` or ``.csv`` file, one number per row, some rows at a time.

    A ROOT file with a single tree needs no `tree`. Empty cells are NaN.
    """
    if path.suffix == ".root":
        with open_tree(path, tree) as opened:
            require_branches(opened, columns, path)
            for arrays in opened.iterate(list(columns), step_size=ROWS, library="np"):
                yield flat(arrays, opened, path)
    elif path.suffix == ".parquet":
        yield from _parquet(path, columns)
    elif path.suffix == ".csv":
        yield from _csv(path, columns)
    else:
        raise ParkfError(f"{path}: unknown kind, expected .root, .parquet or .csv")


def _parquet(path: Path, columns: Sequence[str]) -> Iterator[Columns]:
    with CheckedFile(existing(path)) as file:
        require_names(columns, file.schema_arrow.names, f"{path}: no column")
        for batch in file.iter_batches(batch_size=ROWS, columns=list(columns)):
            yield _numbers(batch, path)


def _csv(path: Path, columns: Sequence[str]) -> Iterator[Columns]:
    read = pa.csv.ReadOptions(block_size=1 << 23, use_threads=False)
    try:
        with existing(path).open("rb") as stream, pa.csv.open_csv(stream, read_options=read) as file:
            require_names(columns, file.schema.names, f"{path}: no column")
            for batch in file:
                yield _numbers(batch.select(list(columns)), path)
    except pa.ArrowException as error:
        raise ParkfError(f"{path}: not a CSV file with one number a column: {error}") from error


def _numbers(rows: pa.RecordBatch, path: Path) -> Columns:
    for name, column in zip(rows.schema.names, rows.columns, strict=True):
        if type_of(column.type).kind not in "biuf":
            raise ParkfError(f"{path}: column '{name}' holds {column.type}, expected numbers; convert it")
    return {name: numbers(rows.column(name)) for name in rows.schema.names}


def factor(unit: str | None, units: Mapping[str, float], what: str) -> float:
    """Return the factor from `units` that converts `what` to this project's unit; a unit is never guessed."""
    if unit is None:
        raise ParkfError(f"{what}: its unit is said nowhere; say one of {', '.join(units)}")
    if unit not in units:
        raise ParkfError(f"{what}: unit '{unit}', expected one of {', '.join(units)}")
    return units[unit]


def sign_of(polarity: str) -> int:
    """Return +1 for "up" (MagUp), -1 for "down" (MagDown)."""
    if polarity not in _SIGNS:
        raise ParkfError(f"polarity '{polarity}', expected up (MagUp) or down (MagDown)")
    return _SIGNS[polarity]
