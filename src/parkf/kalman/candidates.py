"""Candidates in the layout of the kernel: structures of arrays, track by track next to each other."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray

from parkf.errors import ParkfError
from parkf.tables import CANDIDATES, SCIFI_LAYERS, UT_LAYERS, VELO_SLOTS

# The kernel runs up to this many tracks together; arrays are filled up with copies of nothing.
TOGETHER = 16

VELO = ("velo_x", "velo_y", "velo_z")
UT = ("ut_x", "ut_z", "ut_dxdy", "ut_sigma")
SCIFI = ("scifi_x", "scifi_z", "scifi_dxdy", "scifi_sigma")


@dataclass(frozen=True)
class Candidates:
    """A batch of candidates; `stride` is `count` filled up to a multiple of 16.

    Attributes
    ----------
    count : int
        How many candidates there are.
    polarity : (stride,) float
        +1 MagUp, -1 MagDown.
    qop : (stride,) float
        The pattern recognition's q/p in 1/MeV.
    velo_n : (stride,) int32
        VELO hits of a candidate.
    velo : (3, 26, stride) float
        x, y, z in mm, in ascending z.
    ut : (4, 4, stride) float
        x at y = 0, z in mm, dx/dy, σ in mm of each layer; NaN where there is no hit.
    scifi : (4, 12, stride) float
        The same of SciFi; z at y = 0.
    """

    count: int
    polarity: NDArray
    qop: NDArray
    velo_n: NDArray[np.int32]
    velo: NDArray
    ut: NDArray
    scifi: NDArray


def from_arrow(table: pa.Table | pa.RecordBatch, precision: DTypeLike) -> Candidates:
    """Take candidates from rows of the table ``candidates``.

    Parameters
    ----------
    table : pyarrow.Table or pyarrow.RecordBatch
        Columns as in :data:`parkf.tables.CANDIDATES`.
    precision : numpy dtype
        float32 or float64: the numbers of the fit.

    Raises
    ------
    ParkfError
        When a column is missing, has another type or nulls, or a polarity is neither +1 nor -1.
    """
    columns = {name: _column(table, name, kind) for name, kind in CANDIDATES.columns}
    arrays = {name: _numbers(column) for name, column in columns.items()}
    return from_arrays(arrays, precision)


def from_arrays(arrays: dict[str, NDArray], precision: DTypeLike) -> Candidates:
    """Take candidates from arrays by the names of the table ``candidates``; hits as (n, slots).

    Raises
    ------
    ParkfError
        When an array has another shape, or a polarity is neither +1 nor -1.
    """
    count = len(arrays["qop"])
    wrong = np.flatnonzero(np.abs(arrays["polarity"]) != 1)
    if len(wrong):
        got = arrays["polarity"][wrong[0]]
        raise ParkfError(f"candidates: column 'polarity', row {wrong[0]}: got {got}, expected +1 or -1")
    stride = -(-count // TOGETHER) * TOGETHER

    def hits(names: tuple[str, ...], slots: int) -> NDArray:
        result = np.full((len(names), slots, stride), np.nan, dtype=precision)
        for i, name in enumerate(names):
            if arrays[name].shape != (count, slots):
                raise ParkfError(
                    f"candidates: '{name}' has shape {arrays[name].shape}, expected {(count, slots)}"
                )
            result[i, :, :count] = arrays[name].T
        return result

    def padded(name: str, dtype: DTypeLike, filling: float) -> NDArray:
        result = np.full(stride, filling, dtype=dtype)
        result[:count] = arrays[name]
        return result

    return Candidates(
        count=count,
        polarity=padded("polarity", precision, 1),
        qop=padded("qop", precision, np.nan),
        velo_n=padded("velo_n", np.int32, 0),
        velo=hits(VELO, VELO_SLOTS),
        ut=hits(UT, UT_LAYERS),
        scifi=hits(SCIFI, SCIFI_LAYERS),
    )


def _column(table: pa.Table | pa.RecordBatch, name: str, kind: pa.DataType) -> pa.Array:
    index = table.schema.get_field_index(name)
    if index < 0:
        raise ParkfError(f"candidates: column '{name}' is missing")
    column = table.column(index)
    if column.type != kind:
        raise ParkfError(f"candidates: column '{name}' has type {column.type}, expected {kind}")
    if column.null_count:
        raise ParkfError(f"candidates: column '{name}' has {column.null_count} nulls, expected none")
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _numbers(column: pa.Array) -> NDArray:
    if isinstance(column, pa.FixedSizeListArray):
        return column.flatten().to_numpy(zero_copy_only=False).reshape(-1, column.type.list_size)
    return column.to_numpy(zero_copy_only=False)
