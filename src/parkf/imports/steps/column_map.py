"""The column map of `parkf import steps`: a YAML file that names the meaning of a tuple's columns.

    steps:
      T:                                  # a step of the fit; one source, or a list of them
        - files: tuples/scifi-*.parquet   # .root, .csv or .parquet; relative to this file
          tree: Steps                     # of a ROOT file
          where: {status: 1}              # rows that count; a list of values where several do
          columns:
            event: evt
            particle: key
            polarity: {value: -1}         # one for all rows
            set: {column: gap}
            qop: {column: q_over_p, unit: 1/GeV, sign: -1}
            qop_here: {column: q_over_p_0, unit: 1/GeV, sign: -1}
            z0: {column: z_from, unit: cm}
            …                             # x0 y0 tx0 ty0 z1 x1 y1 tx1 ty1; xe ye txe tye, or none of these

A length, a momentum, a q/p and a slope need their units; they are never guessed. The momentum at the origin
is `p_true` or from `qop_here`. A missing `charge` is the sign of q/p; a missing `pdg_id` is 0. Without `xe`,
`ye`, `txe` and `tye`, Runge-Kutta carries the origin to the target, in the field of `parkf import steps`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from parkf.imports.columns import LENGTHS, MOMENTA, Q_OVER_P, SLOPES, factor, read_tuple
from parkf.io.checks import finite, require
from parkf.io.documents.models import Listed, Strict, load_document
from parkf.io.errors import ParkfError
from parkf.io.files import matching
from parkf.io.tables import STEP_DATA
from parkf.training.datasets.carry import Rows
from parkf.training.datasets.legs import SETS

_EXTRAPOLATED = ("xe", "ye", "txe", "tye")
_NEEDED = tuple(
    name for name, _ in STEP_DATA.columns if name not in (*_EXTRAPOLATED, "charge", "pdg_id", "p_true")
)
_KNOWN = (*(name for name, _ in STEP_DATA.columns), "qop_here")
_UNITS = {
    **dict.fromkeys(("x0", "y0", "z0", "x1", "y1", "z1", "xe", "ye"), LENGTHS),
    **dict.fromkeys(("tx0", "ty0", "tx1", "ty1", "txe", "tye"), SLOPES),
    **{"qop": Q_OVER_P, "qop_here": Q_OVER_P, "p_true": MOMENTA},
}


class Column(Strict):
    """Source of a column of the project's schema: a column of the file, or one value for all rows."""

    column: str | None = None
    value: float | None = None
    unit: str | None = None
    sign: Literal[1, -1] = 1

    @model_validator(mode="after")
    def _one_of_both(self) -> "Column":
        if (self.column is None) == (self.value is None):
            raise ValueError("say either column or value")
        return self


class Source(Strict):
    """Files of one kind, and the meaning of their columns."""

    files: str
    tree: str | None = None
    where: dict[str, float | Listed[float]] = Field(default_factory=dict)
    columns: dict[str, str | Column]

    @model_validator(mode="after")
    def _complete(self) -> "Source":
        if unknown := [name for name in self.columns if name not in _KNOWN]:
            raise ValueError(f"columns: no '{unknown[0]}' in a step dataset; it has {', '.join(_KNOWN)}")
        if missing := [name for name in _NEEDED if name not in self.columns]:
            raise ValueError(f"columns: {', '.join(missing)} missing")
        if "p_true" not in self.columns and "qop_here" not in self.columns:
            raise ValueError("columns: neither p_true nor qop_here, the momentum at the origin")
        there = [name for name in _EXTRAPOLATED if name in self.columns]
        if there and len(there) < len(_EXTRAPOLATED):
            expected = f"expected all of {', '.join(_EXTRAPOLATED)}, or none"
            raise ValueError(f"columns: {', '.join(there)} alone; {expected}")
        return self

    def scales(self, name: str) -> dict[str, tuple[Column, float]]:
        """Return the column for every target, and the factor to this project's unit."""
        found = {}
        for target, said in self.columns.items():
            column = Column(column=said) if isinstance(said, str) else said
            where = f"{name}: columns.{target}"
            if target not in _UNITS and column.unit is not None:
                raise ParkfError(f"{where}: unit '{column.unit}' of a number without unit")
            scale = factor(column.unit, _UNITS[target], where) if target in _UNITS else 1.0
            found[target] = (column, column.sign * scale)
        return found


class ColumnMap(Strict):
    """The whole file."""

    steps: Annotated[dict[str, Listed[Source]], Field(min_length=1)]

    @field_validator("steps", mode="before")
    @classmethod
    def _listed(cls, said: Any) -> Any:
        if not isinstance(said, dict):
            return said
        return {step: [one] if isinstance(one, dict) else one for step, one in said.items()}

    @model_validator(mode="after")
    def _known(self) -> "ColumnMap":
        if unknown := [step for step in self.steps if step not in SETS]:
            raise ValueError(f"no step '{unknown[0]}'; steps are {', '.join(SETS)}")
        return self


def load_column_map(path: Path) -> ColumnMap:
    """Read a column map, and check the units of its columns."""
    found = load_document(path, ColumnMap)
    for step in found.steps:
        for source in found.steps[step]:
            source.scales(f"{path}: steps.{step}")
    return found


def mapped_rows(columns: ColumnMap, step: str, folder: Path) -> Iterator[Rows]:
    """Yield columns (n,) of `STEP_DATA` of a step's rows; names of files are relative to `folder`."""
    for source in columns.steps[step]:
        for path in matching(source.files, folder):
            begin = 0
            wanted = source.scales(str(path))
            names = {column.column for column, _ in wanted.values() if column.column is not None}
            for batch in read_tuple(path, sorted(names | set(source.where)), source.tree):
                require(path, batch, *finite(*sorted(names)), begin=begin)
                count = len(next(iter(batch.values())))
                keep = np.ones(count, bool)
                for name, allowed in source.where.items():
                    keep &= np.isin(batch[name], allowed)
                rows: Rows = {}
                for target, (column, scale) in wanted.items():
                    if column.column is None:
                        rows[target] = np.full(int(keep.sum()), scale * float(column.value or 0.0))
                    else:
                        rows[target] = scale * batch[column.column][keep].astype(np.float64)
                yield _complete(rows)
                begin += count


def _complete(rows: Rows) -> Rows:
    """Add the columns that can be computed from others."""
    here = rows.pop("qop_here", None)
    if here is not None and "p_true" not in rows:
        if (here == 0.0).any():
            raise ParkfError(f"columns.qop_here: row {int(np.argmin(np.abs(here)))} of a batch is 0")
        rows["p_true"] = 1.0 / np.abs(here)
    rows.setdefault("charge", np.sign(rows["qop"]))
    rows.setdefault("pdg_id", np.zeros(len(rows["qop"])))
    return rows
