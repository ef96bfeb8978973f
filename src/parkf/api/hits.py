"""Hits of track candidates in the containers that physicists use, as the table ``candidates``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from parkf.io.errors import ParkfError
from parkf.io.project import PROJECT
from parkf.io.tables import MEASURED


def example() -> Path:
    """Return the file of 400 candidates of the embedded simulation that comes with parkf.

    Its columns are those of the table ``candidates``; both polarities are in it.
    """
    return PROJECT / "examples/candidates.parquet"


def candidates_of(hits: Any) -> pa.Table:
    """Convert hits to the table ``candidates``; no number changes its value.

    The columns are those that ``parkf schema candidates`` lists. ``event`` and ``candidate`` may be missing,
    and the truth is not read. A column that is missing, has another shape, or holds a number that its type
    cannot hold raises a ParkfError.
    """
    known = dict(MEASURED.columns)
    if isinstance(hits, str | Path):
        with MEASURED.open(Path(hits)) as file:
            return file.read(columns=list(known))
    columns = _columns(hits)
    needed = [name for name in known if name not in ("event", "candidate")]
    if missing := [name for name in needed if name not in columns]:
        raise ParkfError(f"hits: column {missing[0]!r} is missing; expected {', '.join(needed)}")
    count = len(columns["qop"])
    columns = {"event": np.zeros(count, dtype=int), "candidate": np.arange(count)} | columns
    arrays = [_converted(name, columns[name], kind, count) for name, kind in known.items()]
    schema = MEASURED.schema
    if isinstance(hits, pa.Table | pa.RecordBatch):
        # What the table records about its detector stays with it.
        schema = schema.with_metadata({**schema.metadata, **(hits.schema.metadata or {})})
    return pa.Table.from_arrays(arrays, schema=schema)


def _columns(hits: Any) -> dict[str, Any]:
    """Return the columns of a container by name."""
    if isinstance(hits, Mapping):
        return dict(hits)
    if isinstance(hits, pa.Table | pa.RecordBatch):
        names = hits.schema.names
    elif hasattr(hits, "fields") and hasattr(hits, "layout"):
        names = hits.fields
    elif hasattr(hits, "columns") and hasattr(hits, "dtypes"):
        names = hits.columns
    elif isinstance(hits, np.ndarray) and hits.dtype.names:
        names = hits.dtype.names
    else:
        expected = "a path, an Arrow table, a pandas table, arrays by name or an Awkward array of records"
        raise ParkfError(f"hits: got {type(hits).__name__}, expected {expected}")
    return {str(name): hits[name] for name in names}


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
    """Return lists of hits as an array (count, slots), with NaN in empty slots."""
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
    """Cast numbers; positions may be rounded to float32, but whole numbers and signs must not change."""
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
