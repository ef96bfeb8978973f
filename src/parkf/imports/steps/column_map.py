"""The column map of `parkf import steps`: a YAML file that names the meaning of a tuple's columns.

    steps:
      UT T:                               # steps of the fit; one source, or a list of them
        - files: tuples/{step}-*.parquet  # .root, .csv or .parquet; relative to this file
          tree: Steps                     # of a ROOT file
          where: {status: 1}              # rows that count; a list of values where several do
          drop:                           # of these, rows that are left out without being faults
            nan: true                     # with NaN, or an empty cell, in one of the columns
            outside: {chi2: [0, 5]}       # with a number outside these limits
            duplicates: true              # there before: the same particle, step and set
          columns:
            event: evt
            particle: key
            polarity: {column: magnet, values: {0: -1}}  # other numbers stay; or {value: -1} for all rows
            set: {column: gap}
            qop: {column: q_over_p, unit: 1/GeV, sign: -1}
            qop_here: {column: q_over_p_0, unit: 1/GeV, sign: -1}
            z0: {column: z_from, unit: cm}
            …                             # x0 y0 tx0 ty0 z1 x1 y1 tx1 ty1; xe ye txe tye, or none of these

Nothing else looks at rows that `where` excludes. A length, a momentum, a q/p and a slope need their units;
they are never guessed. Numbers of events and particles beyond 31 bits become others. The momentum at the
origin is `p_true` or from `qop_here`. A missing `charge` is the sign of q/p; a missing `pdg_id` is 0. Without
`xe`, `ye`, `txe` and `tye`, Runge-Kutta carries the origin to the target, in the field of the import.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator, model_validator

from parkf.imports.columns import LENGTHS, MOMENTA, Q_OVER_P, SLOPES, factor, read_tuple
from parkf.imports.steps.rows import Seen
from parkf.io.documents.models import Listed, Strict, load_document
from parkf.io.errors import ParkfError
from parkf.io.events import Columns
from parkf.io.files import matching
from parkf.io.root_files import has_tree
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
    values: dict[int | float, int | float] = Field(default_factory=dict)  # numbers that stand for others
    unit: str | None = None
    sign: Literal[1, -1] = 1

    @model_validator(mode="after")
    def _one_of_both(self) -> "Column":
        if (self.column is None) == (self.value is None):
            raise ValueError("say either column or value")
        return self

    def read(self, batch: Columns, keep: NDArray[np.bool_], scale: float) -> NDArray[Any]:
        """Return the column of the rows to keep, times `scale`; whole numbers stay exact without a scale."""
        if self.column is None:
            return np.full(int(keep.sum()), scale * float(self.value or 0.0))
        found = batch[self.column][keep]
        if self.values:
            replaced = found.astype(np.float64)
            for old, new in self.values.items():
                replaced[found == old] = new
            found = replaced
        with np.errstate(over="ignore"):
            return found if scale == 1.0 else scale * found.astype(np.float64)


class Drop(Strict):
    """Rows that are left out on purpose."""

    nan: bool = False
    outside: dict[str, Annotated[list[float], Field(min_length=2, max_length=2)]] = Field(
        default_factory=dict
    )
    duplicates: bool = False


class Source(Strict):
    """Files of one kind, and the meaning of their columns."""

    files: str
    tree: str | None = None
    where: dict[str, float | Listed[float]] = Field(default_factory=dict)
    drop: Drop = Drop()
    columns: dict[str, Column]

    @field_validator("columns", mode="before")
    @classmethod
    def _named(cls, said: Any) -> Any:
        if not isinstance(said, dict):
            return said
        return {target: {"column": one} if isinstance(one, str) else one for target, one in said.items()}

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
        for target, column in self.columns.items():
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
        listed: dict[Any, Any] = {}
        for names, sources in said.items():
            for step in names.split() if isinstance(names, str) else [names]:
                own = [_of_step(one, step) for one in (sources if isinstance(sources, list) else [sources])]
                listed[step] = listed.get(step, []) + own
        return listed

    @model_validator(mode="after")
    def _known(self) -> "ColumnMap":
        if unknown := [step for step in self.steps if step not in SETS]:
            raise ValueError(f"no step '{unknown[0]}'; steps are {', '.join(SETS)}")
        return self


def _of_step(source: Any, step: Any) -> Any:
    """Put the name of a step for ``{step}`` in the names of a source's files and tree."""
    if not isinstance(source, dict):
        return source
    named = {name: source[name] for name in ("files", "tree") if isinstance(source.get(name), str)}
    return source | {name: text.replace("{step}", str(step)) for name, text in named.items()}


def load_column_map(path: Path) -> ColumnMap:
    """Read a column map, and check the units of its columns."""
    found = load_document(path, ColumnMap)
    for step in found.steps:
        for source in found.steps[step]:
            source.scales(f"{path}: steps.{step}")
    return found


def mapped_rows(columns: ColumnMap, step: str, folder: Path, seen: Seen) -> Iterator[Rows]:
    """Yield columns (n,) of `STEP_DATA` of a step's rows; names of files are relative to `folder`.

    `seen` gets the files, and counts what is dropped. Files of a production without the tree are counted,
    too, unless none has it.
    """
    for source in columns.steps[step]:
        seen.drops_repeats |= source.drop.duplicates
        paths = matching(source.files, folder)
        with_tree = [path for path in paths if has_tree(path, source.tree)]
        seen.count("files without the tree", len(paths) - len(with_tree))
        for path in with_tree or paths[:1]:
            seen.files.append(path)
            begin = 0
            wanted = source.scales(str(path))
            names = sorted({column.column for column, _ in wanted.values() if column.column is not None})
            needed = {*names, *source.where, *source.drop.outside}
            for batch in read_tuple(path, sorted(needed), source.tree):
                keep = _kept(batch, source, names, seen)
                rows = {target: column.read(batch, keep, scale) for target, (column, scale) in wanted.items()}
                yield seen.placed(_complete(rows), begin + np.flatnonzero(keep))
                begin += len(keep)


def _kept(batch: Columns, source: Source, names: list[str], seen: Seen) -> NDArray[np.bool_]:
    """Return which rows of a batch count and are not dropped, (n,)."""
    keep = np.ones(len(next(iter(batch.values()))), bool)
    for name, allowed in source.where.items():
        keep &= np.isin(batch[name], allowed)
    for name, (low, high) in source.drop.outside.items():
        inside = (batch[name] >= low) & (batch[name] <= high)
        seen.count(f"rows with {name} outside {low:g} to {high:g}", int((keep & ~inside).sum()))
        keep &= inside
    if source.drop.nan:
        known = np.logical_and.reduce([~np.isnan(batch[name]) for name in names])
        seen.count("rows with NaN", int((keep & ~known).sum()))
        keep &= known
    return keep


def _complete(rows: Rows) -> Rows:
    """Add the columns that can be computed from others."""
    here = rows.pop("qop_here", None)
    with np.errstate(divide="ignore", invalid="ignore"):
        if here is not None and "p_true" not in rows:
            rows["p_true"] = 1.0 / np.abs(here)
        rows.setdefault("charge", np.sign(rows["qop"]))
    rows.setdefault("pdg_id", np.zeros(len(rows["qop"])))
    return rows
