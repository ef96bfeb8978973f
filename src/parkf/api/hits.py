"""Hits of track candidates in the containers that physicists use, as the table ``candidates``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from parkf.io.errors import ParkfError
from parkf.io.project import PROJECT
from parkf.io.tables import MEASURED

# Columns that a fit copies or does not read; where they are missing, they are filled.
_NUMBERED = "candidate"
_FILLED = {"event": 0}


def example() -> Path:
    """Return the file of 400 candidates of the embedded simulation that comes with parkf.

    Its columns are those of the table ``candidates``; both polarities are in it.
    """
    return PROJECT / "examples/candidates.parquet"


def candidates_of(hits: Any) -> pa.Table:
    """Convert hits to the table ``candidates``; no number changes its value.

    Parameters
    ----------
    hits : path, pyarrow.Table, pandas.DataFrame, mapping of str to array_like, or awkward.Array
        Columns as ``parkf schema candidates`` lists them. ``event`` and ``candidate`` may be
        missing, and the truth is not read.

    Returns
    -------
    pyarrow.Table

    Raises
    ------
    ParkfError
        When a column is missing, has another shape, or holds a number that its type cannot hold.
    """
    if isinstance(hits, str | Path):
        return _read(Path(hits))
    columns = _columns(hits)
    known = dict(MEASURED.columns)
    needed = [name for name in known if name not in _FILLED and name != _NUMBERED]
    if missing := [name for name in needed if name not in columns]:
        raise ParkfError(f"hits: column {missing[0]!r} is missing; expected {', '.join(needed)}")
    count = len(columns["qop"])
    columns = {name: np.full(count, value) for name, value in _FILLED.items()} | columns
    columns.setdefault(_NUMBERED, np.arange(count))
    arrays = [_converted(name, columns[name], kind, count) for name, kind in known.items()]
    return pa.Table.from_arrays(arrays, schema=MEASURED.schema)


def _read(path: Path) -> pa.Table:
    with MEASURED.open(path) as file:
        return file.read(columns=[name for name, _ in MEASURED.columns])


def _columns(hits: Any) -> dict[str, Any]:
    """Return the columns of a container by name."""
    if isinstance(hits, Mapping):
        return dict(hits)
    if isinstance(hits, pa.Table | pa.RecordBatch):
        return {name: hits.column(name) for name in hits.schema.names}
    if hasattr(hits, "fields") and hasattr(hits, "layout"):
        return {name: hits[name] for name in hits.fields}
    if hasattr(hits, "columns") and hasattr(hits, "dtypes"):
        return {str(name): hits[name] for name in hits.columns}
    if isinstance(hits, np.ndarray) and hits.dtype.names:
        return {name: hits[name] for name in hits.dtype.names}
    raise ParkfError(
        f"hits: got {type(hits).__name__}, expected a path, an Arrow table, a pandas table, arrays by name"
        " or an Awkward array of records"
    )


def _converted(name: str, values: Any, kind: pa.DataType, count: int) -> pa.Array:
    """Convert a column to its Arrow type, without a loss."""
    if np.ma.is_masked(values):
        raise ParkfError(f"hits: {name!r} has masked rows, expected a number in each")
    if isinstance(values, pa.ChunkedArray | pa.Array) and values.type == kind:
        return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if pa.types.is_fixed_size_list(kind):
        numbers = _exact(name, _padded(name, values, kind.list_size, count), kind.value_type)
        return pa.FixedSizeListArray.from_arrays(pa.array(numbers.ravel()), kind.list_size)
    numbers = _exact(name, np.asarray(values), kind)
    if numbers.shape != (count,):
        raise ParkfError(f"hits: {name!r} has shape {numbers.shape}, expected ({count},)")
    return pa.array(numbers, type=kind)


def _padded(name: str, values: Any, slots: int, count: int) -> np.ndarray[Any, Any]:
    """Return lists of hits as an array (count, slots), filled up with NaN."""
    if isinstance(values, np.ndarray) and values.ndim == 2:
        rows: Any = values
    else:
        rows = values.to_pylist() if hasattr(values, "to_pylist") else list(values)
        if any(row is None or len(row) > slots for row in rows):
            raise ParkfError(f"hits: {name!r} has a row without a list or with more than {slots} hits")
        rows = np.array([[*row, *[np.nan] * (slots - len(row))] for row in rows], dtype=np.float64)
        rows = rows.reshape(len(rows), slots)
    if rows.shape != (count, slots):
        raise ParkfError(f"hits: {name!r} has shape {rows.shape}, expected ({count}, {slots})")
    return np.asarray(rows)


def _exact(name: str, values: np.ndarray[Any, Any], kind: pa.DataType) -> np.ndarray[Any, Any]:
    """Cast numbers; positions may be rounded to float32, whole numbers and signs must stay as they are."""
    target = np.dtype(kind.to_pandas_dtype())
    if values.dtype.kind not in "iufb":
        raise ParkfError(f"hits: {name!r} has type {values.dtype}, expected {target}")
    with np.errstate(over="ignore", invalid="ignore"):
        cast = values.astype(target)
    lost = (cast != values) if target.kind in "iu" else np.isinf(cast) & np.isfinite(values)
    if lost.any():
        row = int(np.argwhere(lost)[0][0])
        raise ParkfError(f"hits: {name!r}, row {row}: got {values[row]}, which {target} cannot hold")
    return cast
