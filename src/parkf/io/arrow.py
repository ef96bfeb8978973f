"""Arrow's columns as NumPy's arrays and back, without a copy where both have the same layout.

Arrow's own conversions do the same, but first load pandas if it is installed, which costs each job 0.2 s and
30 MB.
"""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def numbers(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """Return a column of numbers or truth values (n,), or of fixed-size lists (n, length); nulls are NaN."""
    if isinstance(column, pa.ChunkedArray):
        # A column without rows has a type, but no chunk.
        parts = [numbers(chunk) for chunk in column.chunks or [pa.nulls(0, column.type)]]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)
    if isinstance(column, pa.FixedSizeListArray):
        return numbers(column.flatten()).reshape(-1, column.type.list_size)
    if column.null_count:
        return column.to_numpy(zero_copy_only=False)
    end = column.offset + len(column)
    if pa.types.is_boolean(column.type):
        bits = np.frombuffer(column.buffers()[1] or b"", np.uint8)
        return np.unpackbits(bits, count=end, bitorder="little")[column.offset :].view(np.bool_)
    return np.frombuffer(column.buffers()[1] or b"", column.type.to_pandas_dtype())[column.offset : end]


def column(values: NDArray[Any], kind: pa.DataType) -> pa.Array:
    """Make a column of type `kind` from numbers or truth values (n,), or from lists (n, length).

    An integer that does not fit the type raises a pyarrow.ArrowInvalid.
    """
    if pa.types.is_fixed_size_list(kind):
        return pa.FixedSizeListArray.from_arrays(column(values.ravel(), kind.value_type), type=kind)
    flat = np.ascontiguousarray(values)
    held = np.packbits(flat, bitorder="little") if flat.dtype == np.bool_ else flat
    buffers = [None, pa.py_buffer(held)]
    return pa.Array.from_buffers(pa.from_numpy_dtype(flat.dtype), len(flat), buffers).cast(kind)


def kind_of(type_: np.dtype[Any]) -> pa.DataType:
    """Return the Arrow type of a column of this NumPy type; a type with a shape is one of lists."""
    if type_.shape:
        return pa.list_(kind_of(type_.base), *type_.shape)
    return pa.string() if type_.kind == "U" else pa.from_numpy_dtype(type_)


def type_of(kind: pa.DataType) -> np.dtype[Any]:
    """Return the NumPy type of a column of numbers, truth values, or lists of them."""
    if pa.types.is_fixed_size_list(kind):
        return np.dtype((type_of(kind.value_type), kind.list_size))
    return np.dtype(kind.to_pandas_dtype())


def table(columns: dict[str, NDArray[Any]], schema: pa.Schema) -> pa.Table:
    """Make a table from columns by name, in the order of the schema."""
    return pa.Table.from_arrays([column(columns[one.name], one.type) for one in schema], schema=schema)
