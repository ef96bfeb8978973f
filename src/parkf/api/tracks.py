"""Fitted tracks as a table with units, for Arrow, pandas, NumPy and all readers of their protocols."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from parkf.fit.fitted import TRIANGLE, explain_status, is_good
from parkf.io.errors import ParkfError
from parkf.io.extras import extras_named
from parkf.io.tables import FITTED
from parkf.report.column_reference import described

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_UNITS = {column.name: column.unit for column in described(FITTED)}


class Tracks:
    """Fitted tracks, one row for each candidate, at the point closest to the beam line.

    Tracks without VELO hits are in their first layer, with all elements of the covariance.

    Columns are those of the table ``fitted``: z, x, y in mm, tx, ty, qop in 1/MeV, the elements of the
    covariance, χ² and ndof of each detector, and a status, which is 0 for a good fit without warnings. Unit
    and meaning of each column are in :attr:`units` and in ``parkf schema fitted``. Programs with Arrow's
    PyCapsule interface, such as Polars, DuckDB or pandas, accept a `Tracks`.
    """

    def __init__(self, columns: Mapping[str, NDArray[Any]]) -> None:
        self._columns = dict(columns)
        for values in self._columns.values():
            values.flags.writeable = False

    def __len__(self) -> int:
        return len(self._columns["status"])

    def __repr__(self) -> str:
        good = int(np.count_nonzero(is_good(self["status"])))
        return f"<Tracks: {len(self)}, of which {good} are good; columns {', '.join(self.columns)}>"

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self._columns)

    @property
    def units(self) -> dict[str, str]:
        """Unit of each column; empty for pure numbers."""
        return {name: _UNITS.get(name, "") for name in self.columns}

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return a column as a NumPy array, read-only: ``(n,)``, or ``(n, k)`` of `rich_states`.

        Raises a ParkfError when there is no such column.
        """
        if name not in self.columns:
            raise ParkfError(f"tracks: no column {name!r}; columns are {', '.join(self.columns)}")
        return self._columns[name]

    @property
    def p(self) -> NDArray[Any]:
        """Momentum in MeV, ``(n,)``, where q/p is given; infinite where q/p is 0."""
        with np.errstate(divide="ignore"):
            return np.abs(1 / self["qop"])

    def states(self) -> NDArray[Any]:
        """Return the states, ``(n, 5)``: x, y in mm, tx, ty, q/p in 1/MeV, each at its own z."""
        return np.column_stack([self[name] for name in ("x", "y", "tx", "ty", "qop")])

    def covariances(self) -> NDArray[Any]:
        """Return the covariances of the states, ``(n, 5, 5)``.

        For tracks with VELO hits, x, y and q/p are not correlated in this fit.
        """
        matrix = np.zeros((len(self), 5, 5), dtype=self["xx"].dtype)
        for name, row, column in zip(TRIANGLE, *np.tril_indices(5), strict=True):
            if name in self.columns:
                matrix[:, row, column] = matrix[:, column, row] = self[name]
        return matrix

    def problems(self, row: int) -> list[str]:
        """Explain the status of one track; an empty list for a good fit."""
        return explain_status(int(self["status"][row]))

    @extras_named()
    def to_arrow(self) -> "pa.Table":
        """Return the Arrow table; units are in the metadata of its fields."""
        import pyarrow as pa

        from parkf.io.arrow import column, kind_of

        arrays = [
            column(values, kind_of(np.dtype((values.dtype, values.shape[1:]))))
            for values in self._columns.values()
        ]
        fields = [
            pa.field(name, array.type, metadata={"unit": _UNITS.get(name, "")})
            for name, array in zip(self._columns, arrays, strict=True)
        ]
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))

    @extras_named()
    def to_pandas(self) -> "pd.DataFrame":
        """Return a pandas table; units are in ``attrs["units"]``."""
        import pandas as pd

        flat = {name: values if values.ndim == 1 else list(values) for name, values in self._columns.items()}
        frame = pd.DataFrame(flat)
        frame.attrs["units"] = self.units
        return frame

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Export by Arrow's PyCapsule interface."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the states, ``(n, 5)``."""
        states = self.states()
        return states if dtype is None else states.astype(dtype)

    def _repr_html_(self) -> str:
        head = self.to_pandas().head(10)
        head.columns = [f"{name} [{unit}]" if (unit := _UNITS.get(name)) else name for name in head.columns]
        return f"{head.to_html()}<p>{len(self)} tracks</p>"
