"""Hits of track candidates in the containers that physicists use, as arrays of the table ``candidates``."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.fit.candidates import column_of, nulls_in
from parkf.io.errors import ParkfError
from parkf.io.extras import extras_named
from parkf.io.fingerprints.detector import recorded_detector
from parkf.io.project import PROJECT
from parkf.io.tables import MEASURED


def example() -> Path:
    """Return the file of 400 candidates of the embedded simulation that comes with parkf.

    Its columns are those of the table ``candidates``; both polarities are in it. The same hits lie beside it
    as NumPy's arrays, ``candidates.npz``, for an installation without Arrow.
    """
    return PROJECT / "examples/candidates.parquet"


@dataclass(frozen=True)
class Hits:
    """Candidates by column."""

    arrays: Mapping[str, NDArray[Any]]  # by name in the table candidates; hits are (n, slots)
    recorded: Mapping[str, str]  # what their table records about its detector
    nulls: NDArray[np.bool_] | None  # (n,): which have a null in a hit, here NaN; None if none has


def hits_of(hits: Any) -> Hits:
    """Convert hits to the columns of the table ``candidates``; no number changes its value.

    The columns are those that ``parkf schema candidates`` lists. ``event`` and ``candidate`` may be missing,
    and the truth is not read. A column that is missing, has another shape, or holds a number that its type
    cannot hold raises a ParkfError.
    """
    types = dict(MEASURED.fields)
    if isinstance(hits, str | Path):
        with extras_named(), MEASURED.open(Path(hits)) as file:
            hits = file.read(columns=list(types))
    columns = _columns(hits)
    needed = [name for name in types if name not in ("event", "candidate")]
    if missing := [name for name in needed if name not in columns]:
        raise ParkfError(f"hits: column {missing[0]!r} is missing; expected {', '.join(needed)}")
    count = len(columns["qop"])
    columns = {"event": np.zeros(count, dtype=int), "candidate": np.arange(count)} | columns
    arrow = _arrow({name: columns[name] for name in types})
    arrays = {
        name: arrow[name][1] if name in arrow else _converted(name, columns[name], type_, count)
        for name, type_ in types.items()
    }
    nulls = nulls_in(column for column, _ in arrow.values()) if arrow else None
    metadata = hits.schema.metadata if _is_arrow(hits) else None
    return Hits(arrays, recorded_detector(metadata), nulls)


def _is_arrow(thing: Any) -> bool:
    return type(thing).__module__.partition(".")[0] == "pyarrow"


def _arrow(columns: Mapping[str, Any]) -> dict[str, tuple[Any, NDArray[Any]]]:
    """Return Arrow's columns that have the types of the table, each with its numbers, which are no copy."""
    found = {name: values for name, values in columns.items() if _is_arrow(values)}
    if not found:
        return {}
    import pyarrow as pa

    from parkf.io.arrow import numbers

    table, kinds = pa.table(found), dict(MEASURED.columns)
    same = [name for name in found if table.schema.field(name).type == kinds[name]]
    whole = {name: column_of(table, name, kinds[name]) for name in same}
    return {name: (column, numbers(column)) for name, column in whole.items()}


def _columns(hits: Any) -> dict[str, Any]:
    """Return the columns of a container by name."""
    if isinstance(hits, Mapping):
        return dict(hits)
    if _is_arrow(hits) and hasattr(hits, "schema"):
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


def _converted(name: str, values: Any, type_: np.dtype[Any], count: int) -> NDArray[Any]:
    """Convert a column to its type, without a loss."""
    if np.ma.is_masked(values):
        raise ParkfError(f"hits: {name!r} has masked rows, expected a number in each")
    if type_.shape:
        return _exact(name, _padded(name, values, type_.shape[0], count), type_.base)
    numbers = _exact(name, np.asarray(values), type_)
    if numbers.shape != (count,):
        raise ParkfError(f"hits: {name!r} has shape {numbers.shape}, expected ({count},)")
    return numbers


def _padded(name: str, values: Any, slots: int, count: int) -> NDArray[Any]:
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


def _exact(name: str, values: NDArray[Any], target: np.dtype[Any]) -> NDArray[Any]:
    """Cast numbers; positions may be rounded to float32, but whole numbers and signs must not change."""
    if values.dtype.kind not in "iufb":
        raise ParkfError(f"hits: {name!r} has type {values.dtype}, expected {target}")
    with np.errstate(over="ignore", invalid="ignore"):
        cast = values.astype(target)
    lost = (cast != values) if target.kind in "iu" else np.isinf(cast) & np.isfinite(values)
    if lost.any():
        row = int(np.argwhere(lost)[0][0])
        raise ParkfError(f"hits: {name!r}, row {row}: got {values[row]}, which {target} cannot hold")
    return cast
