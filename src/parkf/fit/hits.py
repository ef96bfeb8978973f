"""Hits of track candidates in the containers that physicists use, as arrays of the table ``candidates``.

Commands and Python read candidates here alone. Numbers of any type are taken if they convert without a loss:
positions may be rounded to float32, whole numbers and signs must not change. Lists of any kind may leave out
their empty slots. Event numbers that need 64 bits keep them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from parkf.fit.candidates import SCIFI, UT, VELO, Candidates, from_arrays
from parkf.io.checks import POLARITY, require
from parkf.io.errors import ParkfError
from parkf.io.fingerprints.detector import recorded_detector
from parkf.io.tables import MEASURED, Table

if TYPE_CHECKING:
    import pyarrow as pa

_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)


@dataclass(frozen=True)
class Hits:
    """Candidates by column."""

    arrays: Mapping[str, NDArray[Any]]  # by name in the table candidates; hits are (n, slots)
    recorded: Mapping[str, str]  # what their table records about its detector
    nulls: NDArray[np.bool_] | None  # (n,): which have a null in a hit with numbers; None if none has

    def candidates(self, precision: DTypeLike) -> Candidates:
        """Return a batch for a fit in this precision; float32 is not copied."""
        return replace(from_arrays(self.arrays, precision), nulls=self.nulls)


def as_candidates(rows: "pa.Table | pa.RecordBatch | Candidates", precision: DTypeLike) -> Candidates:
    """Return rows of the table ``candidates`` as a batch; a batch is returned as it is."""
    return rows if isinstance(rows, Candidates) else from_arrow(rows, precision)


def from_arrow(table: "pa.Table | pa.RecordBatch", precision: DTypeLike) -> Candidates:
    """Read candidates from rows of the table ``candidates``, for a fit in float32 or float64.

    In float32, hits of a record batch or of a table in one chunk are not copied. Errors are those of
    :func:`hits_of`.
    """
    return hits_of(table, where="candidates").candidates(precision)


def hits_of(hits: Any, *, where: str = "hits", begin: int = 0, table: Table = MEASURED) -> Hits:
    """Convert hits to the columns of the table ``candidates``, or of one with more columns.

    `hits` are an Arrow or pandas table, arrays by name, or an Awkward array. The columns are those that
    ``parkf schema candidates`` lists; ``event`` and ``candidate`` may be missing; the truth is not read. A
    column that is missing, has another shape, nulls outside of lists, or a number that its type cannot hold
    raises a ParkfError, which names them as `where`, with rows counted from `begin`. A null in a list becomes
    NaN: an empty slot, as pandas writes it, if its hit has no number at all. Rows of other nulls are in
    ``nulls``.
    """
    columns = _columns(hits, where)
    needed = [name for name, _ in table.fields if name not in ("event", "candidate")]
    if missing := [name for name in needed if name not in columns]:
        raise ParkfError(
            f"{where}: column {missing[0]!r} is missing; expected {', '.join(needed)}"
            " (`parkf schema candidates` has their types)"
        )
    count = len(columns["qop"])
    columns = {"event": np.zeros(count, _INT32), "candidate": begin + np.arange(count)} | columns
    arrays: dict[str, NDArray[Any]] = {}
    nulls: dict[str, NDArray[np.bool_]] = {}
    for name, type_ in table.fields:
        column = _Column(where, name, begin)
        if type_.shape:
            values, absent = column.padded(columns[name], type_.shape[0], count)
            nulls |= {} if absent is None else {name: absent}
        else:
            values = column.scalars(columns[name], count)
        arrays[name] = column.exact(values, event_kind(values) if name == "event" else type_.base)
    require(where, arrays, POLARITY, begin=begin)
    recorded = recorded_detector(hits.schema.metadata if _is_arrow(hits) else None)
    return Hits(arrays, recorded, _with_holes(arrays, nulls))


def _with_holes(
    arrays: Mapping[str, NDArray[Any]], nulls: Mapping[str, NDArray[np.bool_]]
) -> NDArray[np.bool_] | None:
    """Return which rows have a hit with a null and a number, (n,), or None if there is none."""
    found = []
    for names in (VELO, UT, SCIFI):
        if absent := [nulls[name] for name in names if name in nulls]:
            hits = np.logical_or.reduce([np.isfinite(arrays[name]) for name in names])
            found.append((np.logical_or.reduce(absent) & hits).any(axis=1))
    rows = np.logical_or.reduce(found) if found else np.zeros(0, bool)
    return rows if rows.any() else None


def event_kind(event: NDArray[Any]) -> np.dtype[Any]:
    """Return the type for event numbers (n,): int32 if all of them fit, else int64."""
    if not len(event) or event.dtype == _INT32 or event.dtype.kind not in "iuf":
        return _INT32
    limits = np.iinfo(np.int32)
    return _INT32 if event.min() >= limits.min and event.max() <= limits.max else _INT64


def _is_arrow(thing: Any) -> bool:
    return type(thing).__module__.partition(".")[0] == "pyarrow"


def _columns(hits: Any, where: str) -> dict[str, Any]:
    """Return the columns of a container by name."""
    if isinstance(hits, Mapping):
        return dict(hits)
    if _is_arrow(hits) and hasattr(hits, "schema"):
        names = hits.schema.names
    elif hasattr(hits, "fields") and hasattr(hits, "layout"):
        names = hits.fields
    elif hasattr(hits, "columns") and hasattr(hits, "dtypes"):
        names = hits.columns
    else:
        expected = "a path, an Arrow table, a pandas table, arrays by name or an Awkward array of records"
        raise ParkfError(f"hits: got {type(hits).__name__}, expected {expected}")
    if twice := [name for name in set(names) if list(names).count(name) > 1]:
        raise ParkfError(f"{where}: column {min(twice)!r} is there twice, expected it once; drop one of them")
    return {str(name): hits[name] for name in names}


@dataclass(frozen=True)
class _Column:
    """A column that is converted, as messages name it."""

    where: str
    name: str
    begin: int  # number of its first row

    def scalars(self, values: Any, count: int) -> NDArray[Any]:
        """Return a number for each row, (count,)."""
        if _is_arrow(values):
            values = self._arrow_numbers(self._whole(values))
        if np.ma.is_masked(values):
            raise self._error("has masked rows, expected a number in each")
        return self._of_shape(np.asarray(values), (count,))

    def padded(self, values: Any, slots: int, count: int) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Return lists of hits as an array (count, slots), NaN in empty slots, and which are null."""
        if isinstance(values, np.ndarray) and values.ndim == 2:
            if np.ma.is_masked(values):
                raise self._error("has masked entries; fill them, hits that are missing with NaN")
            return self._of_shape(values, (count, slots)), None
        length, flat, absent = self._flattened(values)
        if (wrong := (length < 0) | (length > slots)).any():
            row = self.begin + int(np.argmax(wrong))
            raise self._error(f"has a row without a list or with more than {slots} hits, row {row}")
        if (length == slots).all():
            nulls = None if absent is None else absent.reshape(-1, slots)
            return self._of_shape(flat.reshape(-1, slots), (count, slots)), nulls
        used = np.arange(slots) < length[:, None]
        rows = np.full(used.shape, np.nan, np.promote_types(flat.dtype, np.float32))
        rows[used] = flat
        nulls = None if absent is None else np.zeros(used.shape, bool)
        if nulls is not None:
            nulls[used] = absent
        return self._of_shape(rows, (count, slots)), nulls

    def _flattened(self, values: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_] | None]:
        """Return the lengths of lists, (n,) and -1 where there is none, their numbers, and which are null."""
        if _is_arrow(values):
            return self._of_arrow(self._whole(values))
        if hasattr(values, "layout"):
            import awkward as ak

            length = ak.to_numpy(ak.fill_none(ak.num(values), -1))
            flat = ak.to_numpy(ak.flatten(values))
            masked = np.ma.is_masked(flat)
            return length, np.ma.filled(flat, np.nan), np.ma.getmaskarray(flat) if masked else None
        rows = list(values)
        length = np.array([len(row) if hasattr(row, "__len__") else -1 for row in rows], np.int64)
        each = [np.asarray(row) for row in rows if hasattr(row, "__len__") and len(row)]
        flat = np.concatenate(each) if each else np.empty(0)
        return length, flat.astype(np.float64) if flat.dtype == object else flat, None

    def _of_arrow(self, column: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_] | None]:
        import pyarrow as pa
        import pyarrow.compute as pc

        from parkf.io.arrow import numbers

        kind = column.type
        if pa.types.is_fixed_size_list(kind):
            length = np.full(len(column), kind.list_size)
        elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
            length = numbers(pc.list_value_length(column))
        else:
            raise self._error(f"has type {kind}, expected lists of numbers; convert the column")
        items = column.flatten()
        return length, self._arrow_numbers(items), numbers(items.is_null()) if items.null_count else None

    def _arrow_numbers(self, column: Any) -> NDArray[Any]:
        import pyarrow as pa

        from parkf.io.arrow import numbers

        kinds = pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean
        if not any(one(column.type) for one in kinds):
            raise self._error(f"has type {column.type}, expected numbers; convert the column")
        return numbers(column)

    def _whole(self, column: Any) -> Any:
        """Return an Arrow column in one piece, which has no nulls outside of lists."""
        column = column.combine_chunks() if hasattr(column, "combine_chunks") else column
        if column.null_count:
            row = self.begin + column.is_null().index(True).as_py()
            raise ParkfError(f"{self.where}: column '{self.name}', row {row}: null, expected a value")
        return column

    def _of_shape(self, values: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        if values.shape != shape:
            raise self._error(f"has shape {values.shape}, expected {shape}")
        return values

    def exact(self, values: NDArray[Any], target: np.dtype[Any]) -> NDArray[Any]:
        """Cast numbers; positions may be rounded to float32, but whole numbers and signs must not change."""
        if values.dtype == target:
            return values
        if values.dtype.kind not in "iufb":
            raise self._error(f"has type {values.dtype}, expected {target}; convert the column")
        with np.errstate(over="ignore", invalid="ignore"):
            cast = values.astype(target)
        lost = (cast != values) if target.kind in "iu" else np.isinf(cast) & np.isfinite(values)
        if lost.any():
            at = np.argwhere(lost)[0][0]
            got = f"got {values[at]}, which {target} cannot hold"
            raise ParkfError(f"{self.where}: column '{self.name}', row {self.begin + at}: {got}")
        return cast

    def _error(self, what: str) -> ParkfError:
        return ParkfError(f"{self.where}: column '{self.name}' {what}")
