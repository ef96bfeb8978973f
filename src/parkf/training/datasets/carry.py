"""The Runge–Kutta target of rows that come without one: the true origin carried through the user's field."""

import numpy as np
from numpy.typing import NDArray

from parkf.detector.field import FieldMap
from parkf.detector.transport import propagate
from parkf.io.events import select

COMPONENTS = ("x", "y", "tx", "ty")
Rows = dict[str, NDArray[np.float64]]


def carry_rows(
    rows: Rows, field: FieldMap, threads: int | None = None, tolerance: float = 1e-4
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Carry origins to the z of their targets, with the local momentum and without material.

    Rows have x0, y0, tx0, ty0, z0, z1 in mm and slopes, p_true in MeV, charge and polarity, (n,) float64
    each; `tolerance` of a step is in mm. Return x, y, tx, ty at z1, (n, 4), NaN for rows that did not arrive,
    and which rows arrived, (n,).
    """
    start = np.column_stack([*(rows[f"{name}0"] for name in COMPONENTS), rows["charge"] / rows["p_true"]])
    states, arrived = np.full((len(start), 4), np.nan), np.zeros(len(start), bool)
    for polarity in (-1, 1):
        own = np.flatnonzero(rows["polarity"] == polarity)
        if len(own):
            plane = (rows["z1"][own], 0.0, 0.0)
            moved = propagate(
                field, polarity, start[own], rows["z0"][own], plane, tolerance=tolerance, threads=threads
            )
            states[own], arrived[own] = moved.states[:, :4], moved.ok
    return states, arrived


def with_target(
    rows: Rows, field: FieldMap, threads: int | None = None, tolerance: float = 1e-4
) -> tuple[Rows, int]:
    """Add xe, ye, txe, tye to rows. Return the rows that arrived, and how many did not."""
    states, arrived = carry_rows(rows, field, threads, tolerance)
    full = rows | {f"{name}e": states[:, number] for number, name in enumerate(COMPONENTS)}
    return select(full, arrived), int((~arrived).sum())
