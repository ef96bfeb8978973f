"""Columns of ROOT trees, Parquet and CSV files of others, with messages that name file and column."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from parkf.imports.checks import require_all
from parkf.io.checksums import CheckedFile
from parkf.io.errors import ParkfError
from parkf.io.files import existing

ROWS = 1 << 16


@contextmanager
def open_root(path: Path) -> Iterator[Any]:
    """Open a file for reading.

    A ParkfError is raised when it is missing, is no ROOT file, or is cut off; also when that shows within the
    block.
    """
    import uproot

    try:
        with uproot.open(existing(path)) as file:
            yield file
    except (ParkfError, MemoryError):
        raise
    except Exception as error:
        # For damaged bytes uproot raises a dozen types of errors, assertions among them.
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise ParkfError(f"{path}: not a ROOT file as it was written: {reason}") from error


@contextmanager
def open_tree(path: Path, name: str | None = None) -> Iterator[Any]:
    """Open a tree of a file; the only one where no name is given.

    A ParkfError is raised as by :func:`open_root`, when there is no such tree, or several but no name.
    """
    with open_root(path) as file:
        trees = tree_names(file)
        if name is None and len(trees) != 1:
            raise ParkfError(f"{path}: {len(trees)} trees ({', '.join(trees[:8])}); say which one")
        chosen = trees[0] if name is None else name
        if chosen not in trees:
            raise ParkfError(f"{path}: no tree '{chosen}'; it has {', '.join(trees[:8]) or 'none'}")
        yield file[chosen]


def tree_names(file: Any) -> list[str]:
    """Names of the trees in an open file, without the numbers of their cycles."""
    kinds = file.classnames()
    return sorted(
        {name.split(";")[0] for name, kind in kinds.items() if kind == "TTree" or "RNTuple" in kind}
    )


def require_branches(tree: Any, names: Iterable[str], path: Path) -> None:
    """Raise a ParkfError with the names of the branches if one is missing."""
    there = set(tree.keys())
    if missing := [name for name in names if name not in there]:
        raise ParkfError(
            f"{path}: tree '{tree.name}' has no branch '{missing[0]}'; it has {', '.join(sorted(there)[:12])}"
        )


def read_branches(tree: Any, names: Iterable[str], path: Path) -> dict[str, NDArray[Any]]:
    """Read whole branches; a ParkfError is raised when one is missing, or has not one number an entry."""
    names = list(names)
    require_branches(tree, names, path)
    return _flat(tree.arrays(names, library="np"), tree, path)


def _flat(arrays: dict[str, NDArray[Any]], tree: Any, path: Path) -> dict[str, NDArray[Any]]:
    for name, values in arrays.items():
        if values.dtype.kind not in "biuf" or values.ndim != 1:
            raise ParkfError(f"{path}: tree '{tree.name}', branch '{name}': expected one number an entry")
    return arrays


def read_tuple(
    path: Path, columns: Sequence[str], tree: str | None = None
) -> Iterator[dict[str, NDArray[Any]]]:
    """Read columns of one number a row of a ``.root``, ``.parquet`` or ``.csv`` file, some rows at a time.

    A tree need not be named where a ROOT file has one alone. A ParkfError is raised when the file is missing,
    damaged, of another kind, or lacks a column.
    """
    if path.suffix == ".root":
        with open_tree(path, tree) as opened:
            require_branches(opened, columns, path)
            for arrays in opened.iterate(list(columns), step_size=ROWS, library="np"):
                yield _flat(arrays, opened, path)
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
    """Return numbers as float64; a ParkfError is raised if one is not finite. `begin` is the first row."""
    where = f"{path}: column '{name}', row"
    require_all(
        np.isfinite(values), lambda row: f"{where} {begin + row}: {values[row]}, expected a finite number"
    )
    return np.asarray(values, dtype=np.float64)
