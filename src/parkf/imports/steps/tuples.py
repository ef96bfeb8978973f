"""Columns of ROOT trees, Parquet and CSV files, some rows at a time."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from parkf.imports.root_files import open_tree, steps
from parkf.io.checksums import CheckedFile
from parkf.io.errors import ParkfError
from parkf.io.files import existing

ROWS = 1 << 16


def read_tuple(
    path: Path, columns: Sequence[str], tree: str | None = None
) -> Iterator[dict[str, NDArray[Any]]]:
    """Read columns of one number a row of a ``.root``, ``.parquet`` or ``.csv`` file.

    A tree need not be named where a ROOT file has one alone. A dictionary has at most :data:`ROWS` rows, or a
    row group.

    Raises
    ------
    ParkfError
        When the file is missing, damaged, of another kind, or lacks a column.
    """
    if path.suffix == ".root":
        with open_tree(path, tree) as opened:
            yield from steps(opened, columns, path, ROWS)
    elif path.suffix == ".parquet":
        yield from _parquet(path, columns)
    elif path.suffix == ".csv":
        yield from _csv(path, columns)
    else:
        raise ParkfError(f"{path}: unknown kind, expected .root, .parquet or .csv")


def _parquet(path: Path, columns: Sequence[str]) -> Iterator[dict[str, NDArray[Any]]]:
    with CheckedFile(existing(path)) as file:
        _require(columns, file.schema_arrow.names, path)
        for group in range(file.num_row_groups):
            rows = file.read_row_group(group, columns=list(columns))
            for begin in range(0, rows.num_rows, ROWS):
                yield _numbers(rows.slice(begin, ROWS), path)


def _csv(path: Path, columns: Sequence[str]) -> Iterator[dict[str, NDArray[Any]]]:
    read = pa.csv.ReadOptions(block_size=1 << 23, use_threads=False)
    try:
        with existing(path).open("rb") as stream, pa.csv.open_csv(stream, read_options=read) as file:
            _require(columns, file.schema.names, path)
            for batch in file:
                yield _numbers(pa.Table.from_batches([batch]).select(list(columns)), path)
    except pa.ArrowException as error:
        raise ParkfError(f"{path}: not a CSV file with one number a column: {error}") from error


def _require(columns: Sequence[str], there: Sequence[str], path: Path) -> None:
    if missing := [name for name in columns if name not in there]:
        raise ParkfError(f"{path}: no column '{missing[0]}'; it has {', '.join(list(there)[:12])}")


def _numbers(rows: pa.Table, path: Path) -> dict[str, NDArray[Any]]:
    found = {}
    for name in rows.column_names:
        column = rows[name].combine_chunks()
        if column.null_count:
            raise ParkfError(f"{path}: column '{name}' has empty cells")
        values = column.to_numpy(zero_copy_only=False)
        if values.dtype.kind not in "biuf":
            raise ParkfError(f"{path}: column '{name}' holds {column.type}, expected numbers")
        found[name] = values
    return found


def finite(values: NDArray[Any], path: Path, name: str, begin: int) -> NDArray[np.float64]:
    """Refuse numbers that are not finite; `begin` is the row of the first.

    Raises
    ------
    ParkfError
        With file, column and row.
    """
    bad = ~np.isfinite(values)
    if bad.any():
        row = int(np.argmax(bad))
        raise ParkfError(
            f"{path}: column '{name}', row {begin + row}: {values[row]}, expected a finite number"
        )
    return np.asarray(values, dtype=np.float64)
