"""Rows of a step dataset in memory, as the fits want them."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from parkf.errors import ParkfError
from parkf.tables import STEP_DATA

Rows = dict[str, NDArray]
COMPONENTS = ("x", "y", "tx", "ty")


def load_rows(path: Path) -> Rows:
    """Read a step dataset: columns as float64, ``set``, ``event`` and ``particle`` as int64.

    Raises
    ------
    ParkfError
        When the table is not a step dataset, or a number in it is not finite.
    """
    with STEP_DATA.open(path) as file:
        table = file.read()
    rows: Rows = {}
    for name, _ in STEP_DATA.columns:
        kind = np.int64 if name in ("set", "event", "particle") else np.float64
        rows[name] = table.column(name).to_numpy().astype(kind)
        bad = np.flatnonzero(~np.isfinite(rows[name]))
        if len(bad):
            value = rows[name][bad[0]]
            raise ParkfError(f"{path}: column '{name}' row {bad[0]}: {value}, expected a finite number")
    return rows


def select(rows: Rows, mask: NDArray) -> Rows:
    """Rows where `mask` holds, or with these indices."""
    return {name: column[mask] for name, column in rows.items()}


def clusters(rows: Rows) -> NDArray[np.int64]:
    """Give every row the number of its particle, (n,) int64 from 0: rows of one are not independent."""
    polarity = (rows["polarity"] > 0).astype(np.int64)
    key = (rows["event"] * 2 + polarity) * (rows["particle"].max() + 1) + rows["particle"]
    return np.unique(key, return_inverse=True)[1].astype(np.int64)


def runge_kutta_residual(predicted: tuple[NDArray, ...], rows: Rows, component: str) -> NDArray:
    """Form − Runge–Kutta, (n,), of one component."""
    return predicted[COMPONENTS.index(component)] - rows[f"{component}e"]


def truth_residual(predicted: tuple[NDArray, ...], rows: Rows, component: str) -> NDArray:
    """Form − truth, (n,), of one component."""
    return predicted[COMPONENTS.index(component)] - rows[f"{component}1"]
