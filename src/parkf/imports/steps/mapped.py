"""Rows of a step by a user's column map."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.imports.globs import matching
from parkf.imports.steps.column_map import ColumnMap, Source
from parkf.imports.steps.tuples import finite, read_tuple
from parkf.io.errors import ParkfError

Rows = dict[str, NDArray[np.float64]]


def mapped_rows(columns: ColumnMap, step: str, folder: Path) -> Iterator[Rows]:
    """Read the rows of a step.

    Parameters
    ----------
    columns : ColumnMap
    step : str
        One of its steps.
    folder : Path
        That the names of files are relative to.

    Yields
    ------
    dict of str to (n,) float64
        Columns of `parkf.io.tables.STEP_DATA` in its units; no extrapolated state where the map names none.

    Raises
    ------
    ParkfError
        When a file is missing or damaged, lacks a column, or holds what is not finite.
    """
    for source in columns.sources(step):
        for path in matching(source.files, folder):
            begin = 0
            wanted = source.scales(str(path))
            names = {name for name, _, _ in wanted.values() if name is not None} | set(source.where)
            for batch in read_tuple(path, sorted(names), source.tree):
                count = len(next(iter(batch.values())))
                chosen = _chosen(source, batch, count)
                yield _complete(_targets(wanted, batch, chosen, path, begin))
                begin += count


def _chosen(source: Source, batch: dict[str, NDArray[Any]], count: int) -> NDArray[np.int64]:
    keep = np.ones(count, bool)
    for name, allowed in source.where.items():
        keep &= np.isin(batch[name], allowed)
    return np.flatnonzero(keep)


def _targets(
    wanted: dict[str, tuple[str | None, float | None, float]],
    batch: dict[str, NDArray[Any]],
    chosen: NDArray[np.int64],
    path: Path,
    begin: int,
) -> Rows:
    rows = {}
    for target, (name, value, scale) in wanted.items():
        if name is None:
            rows[target] = np.full(len(chosen), scale * float(value or 0.0))
        else:
            rows[target] = scale * finite(batch[name], path, name, begin)[chosen]
    return rows


def _complete(rows: Rows) -> Rows:
    """Add what follows from other columns."""
    here = rows.pop("qop_here", None)
    if here is not None and "p_true" not in rows:
        if (here == 0.0).any():
            raise ParkfError(f"columns.qop_here: row {int(np.argmin(np.abs(here)))} of a batch is 0")
        rows["p_true"] = 1.0 / np.abs(here)
    if "charge" not in rows:
        rows["charge"] = np.sign(rows["qop"])
    rows.setdefault("pdg_id", np.zeros(len(rows["qop"])))
    return rows
