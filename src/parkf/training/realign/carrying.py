"""Rows of a step dataset in the planes of another alignment: carried there by Runge-Kutta, not simulated.

The truth of a row has scattered on its way. In a moved detector it scatters by the same angles, in the
material of the planes, which has moved with them. So the difference of truth from extrapolation keeps its
slopes, and its positions change in proportion to the way. If the truth were carried on from its old target,
what scatters in the target's own material would shift it, which it does not: the width of positions in a gap
of the SciFi would be wrong by several of its errors.
"""

import numpy as np
from numpy.typing import NDArray

from parkf.detector.field import FieldMap
from parkf.detector.transport import propagate
from parkf.io.events import select
from parkf.training.rows import COMPONENTS, F64, Rows

TOLERANCE = 1e-3
"""mm; closer to a plane than this, an end lies in it."""
NO_PLANE = -1
_STILL = 1e-9  # mm and slopes, of planes that have not moved
# A way that changes by a larger fraction is no lever; from z_out to the first SciFi layer it may be zero.
_LEVER = 0.5


def find_planes(rows: Rows, end: str, planes: F64) -> NDArray[np.int64]:
    """Return the number (n,) of the plane in which each row begins (`end` 0) or ends (1), else `NO_PLANE`.

    `planes` are (70, 3), from :meth:`parkf.detector.geometry.Geometry.planes`.
    """
    z, x, y = (rows[f"{name}{end}"][:, None] for name in "zxy")
    off = np.abs(z - planes[:, 0] - planes[:, 1] * x - planes[:, 2] * y)
    return np.where(off.min(axis=1) < TOLERANCE, off.argmin(axis=1), NO_PLANE)


def moved_planes(before: F64, after: F64) -> NDArray[np.bool_]:
    """Return which planes (70,) differ, not by a shift along them; at the end is False, for `NO_PLANE`."""
    return np.append((np.abs(after - before) > _STILL).any(axis=1), False)


def carry_rows(
    rows: Rows, before: F64, after: F64, field: FieldMap, *, everything: bool = False, threads: int = 1
) -> Rows:
    """Return rows whose ends in the planes `before`, (70, 3), lie in the planes `after`; others as they are.

    Rows have the columns of :data:`parkf.io.tables.STEP_DATA` that fits read. Those that leave the field map
    on their new way are left out. With `everything`, rows in planes at rest are extrapolated, too, through a
    `field` that is not theirs. The result does not depend on `threads`.
    """
    moved = moved_planes(before, after)
    new = {name: values.copy() for name, values in rows.items()}
    scattered = [rows[f"{c}1"] - rows[f"{c}e"] for c in COMPONENTS]
    touched, arrived = np.full(len(rows["qop"]), everything), np.ones(len(rows["qop"]), bool)
    for end in "01":
        numbers = find_planes(rows, end, before)
        at = np.flatnonzero(moved[numbers])
        states, new[f"z{end}"][at], arrived[at] = _carried(
            rows, at, end, after[numbers[at]].T, field, threads
        )
        for c, values in zip(COMPONENTS, states.T, strict=True):
            new[f"{c}{end}"][at] = values
        touched[at] = True
    at = np.flatnonzero(touched & arrived)
    z1, flat = new["z1"][at], np.zeros(len(at))
    states, _, arrived[at] = _carried(new, at, "0", np.stack([z1, flat, flat]), field, threads)
    way = rows["z1"][at] - rows["z0"][at]
    longer = z1 - new["z0"][at] - way
    is_lever = np.abs(longer) < _LEVER * np.abs(way)
    lever = 1 + np.divide(longer, way, out=flat, where=is_lever)
    for c, values, off in zip(COMPONENTS, states.T, scattered, strict=True):
        new[f"{c}e"][at] = values
        new[f"{c}1"][at] = values + off[at] * (lever if c in "xy" else 1.0)
    return select(new, arrived)


def _carried(
    rows: Rows, at: NDArray[np.int64], end: str, planes: F64, field: FieldMap, threads: int
) -> tuple[F64, F64, NDArray[np.bool_]]:
    """Carry the states at an end of some rows, `at`, to planes (3, k); return (k, 4), z, and which arrive."""
    qop = np.sign(rows["qop"][at]) / rows["p_true"][at]
    start, z0 = np.column_stack([*(rows[f"{c}{end}"][at] for c in COMPONENTS), qop]), rows[f"z{end}"][at]
    states, z, arrived = np.empty((len(at), 4)), np.empty(len(at)), np.empty(len(at), bool)
    for polarity in (-1, 1):
        own = rows["polarity"][at] == polarity
        z0_, dzdx, dzdy = planes[:, own]
        there = propagate(field, polarity, start[own], z0[own], (z0_, dzdx, dzdy), threads=threads)
        states[own], z[own], arrived[own] = there.states[:, :4], there.z, there.ok
    return states, z, arrived
