"""Columns of foreign ROOT trees, Parquet and CSV files: reading, checks of their numbers, and units.

Messages name the file, the column, and the first number that is wrong. This project's units are mm, MeV,
1/MeV, T and slopes; a polarity is +1 or -1.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv

from parkf.io.arrow import numbers, type_of
from parkf.io.checksums import CheckedFile
from parkf.io.errors import ParkfError, few
from parkf.io.events import Columns
from parkf.io.files import existing

if TYPE_CHECKING:
    import pandas as pd

ROWS = 1 << 16
LENGTHS = {"mm": 1.0, "cm": 10.0, "m": 1000.0, "um": 1e-3}
MOMENTA = {"MeV": 1.0, "GeV": 1000.0}
Q_OVER_P = {"1/MeV": 1.0, "1/GeV": 1e-3}
SLOPES = {"1": 1.0, "mrad": 1e-3}
# Gaudi's unit of magnetic flux density: one tesla is the number 0.001.
FIELDS = {"T": 1.0, "kG": 0.1, "G": 1e-4, "Gaudi": 1000.0}
_SIGNS = {"up": 1, "down": -1}


@contextmanager
def open_root(path: Path) -> Iterator[Any]:
    """Open a file; damage raises a ParkfError, even if it is found later, inside the `with` block."""
    import uproot

    try:
        with uproot.open(existing(path)) as file:
            yield file
    except (ParkfError, MemoryError):
        raise
    except Exception as error:
        # For damaged bytes uproot raises a dozen types of errors, including assertions.
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise ParkfError(f"{path}: not a ROOT file as it was written: {reason}") from error


@contextmanager
def open_tree(path: Path, name: str | None = None) -> Iterator[Any]:
    """Open a tree of a file; without a name, the only tree."""
    with open_root(path) as file:
        trees = tree_names(file)
        if name is None and len(trees) != 1:
            raise ParkfError(f"{path}: {len(trees)} trees ({few(trees)}); say which one")
        chosen = trees[0] if name is None else name
        if chosen not in trees:
            raise ParkfError(f"{path}: no tree '{chosen}'; it has {few(trees)}")
        yield file[chosen]


def tree_names(file: Any) -> list[str]:
    """Names of the trees in an open file, without the numbers of their cycles."""
    kinds = file.classnames()
    return sorted(
        {name.split(";")[0] for name, kind in kinds.items() if kind == "TTree" or "RNTuple" in kind}
    )


def require_branches(tree: Any, names: Iterable[str], path: Path) -> None:
    """Raise a ParkfError if a branch is missing; its message lists those that are there."""
    _require(names, sorted(set(tree.keys())), f"{path}: tree '{tree.name}' has no branch")


def read_branches(tree: Any, names: Iterable[str], path: Path) -> Columns:
    """Read whole branches; a missing branch, or other than one number per entry, raises a ParkfError."""
    names = list(names)
    require_branches(tree, names, path)
    return _flat(tree.arrays(names, library="np"), tree, path)


def _flat(arrays: Columns, tree: Any, path: Path) -> Columns:
    for name, values in arrays.items():
        if values.dtype.kind not in "biuf" or values.ndim != 1:
            raise ParkfError(f"{path}: tree '{tree.name}', branch '{name}': expected one number an entry")
    return arrays


def has_tree(path: Path, tree: str | None) -> bool:
    """Whether a ROOT file has a tree of this name, or any tree; files of other kinds count as one tree."""
    if path.suffix != ".root":
        return True
    with open_root(path) as file:
        return bool(tree_names(file)) if tree is None else tree in tree_names(file)


def read_tuple(path: Path, columns: Sequence[str], tree: str | None = None) -> Iterator[Columns]:
    """Read columns of a ``.root``, ``.parquet`` or ``.csv`` file, one number per row, some rows at a time.

    A ROOT file with a single tree needs no `tree`. Empty cells are NaN.
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


def _parquet(path: Path, columns: Sequence[str]) -> Iterator[Columns]:
    with CheckedFile(existing(path)) as file:
        _require(columns, file.schema_arrow.names, f"{path}: no column")
        for batch in file.iter_batches(batch_size=ROWS, columns=list(columns)):
            yield _numbers(batch, path)


def _csv(path: Path, columns: Sequence[str]) -> Iterator[Columns]:
    read = pa.csv.ReadOptions(block_size=1 << 23, use_threads=False)
    try:
        with existing(path).open("rb") as stream, pa.csv.open_csv(stream, read_options=read) as file:
            _require(columns, file.schema.names, f"{path}: no column")
            for batch in file:
                yield _numbers(batch.select(list(columns)), path)
    except pa.ArrowException as error:
        raise ParkfError(f"{path}: not a CSV file with one number a column: {error}") from error


def read_frame(path: Path, columns: Sequence[str], optional: Sequence[str] = ()) -> "pd.DataFrame":
    """Read columns of a ``.parquet`` or ``.csv`` file; all but ``det`` must hold numbers."""
    import pandas as pd

    if path.suffix == ".csv":
        try:
            frame = pd.read_csv(existing(path), skipinitialspace=True)
        except (ValueError, UnicodeDecodeError) as error:
            raise ParkfError(f"{path}: not a CSV file: {error}") from error
    else:
        with CheckedFile(existing(path)) as file:
            there = file.schema_arrow.names
            frame = file.read(columns=[name for name in (*columns, *optional) if name in there]).to_pandas()
    if missing := [name for name in columns if name not in frame]:
        expected = f"it has {few(frame.columns)}, expected {', '.join(columns)}"
        raise ParkfError(f"{path}: column '{missing[0]}' is missing; {expected}; rename or add columns")
    frame = frame[[name for name in (*columns, *optional) if name in frame]]
    for name in frame.columns.drop("det", errors="ignore"):
        if frame[name].dtype.kind not in "iuf":
            raise ParkfError(f"{path}: column '{name}' holds text, expected numbers; convert it")
    return frame


def _require(names: Iterable[str], there: Sequence[str], lacks: str) -> None:
    if missing := [name for name in names if name not in there]:
        raise ParkfError(f"{lacks} '{missing[0]}'; it has {few(there)}")


def _numbers(rows: pa.RecordBatch, path: Path) -> Columns:
    for name, column in zip(rows.schema.names, rows.columns, strict=True):
        if type_of(column.type).kind not in "biuf":
            raise ParkfError(f"{path}: column '{name}' holds {column.type}, expected numbers")
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
