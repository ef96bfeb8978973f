"""Runge-Kutta propagation of track states through a field map, without material."""

import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

import parkf._transport as _transport
from parkf.detector.field import FieldMap
from parkf.io.errors import ParkfError


@dataclass(frozen=True)
class Propagated:
    """States at their targets."""

    states: NDArray[np.float64]  # (n, 5): x, y, tx, ty, q/p in mm, rad, 1/MeV; NaN where not `ok`
    z: NDArray[np.float64]  # (n,) mm; NaN where not `ok`
    # (n,) whether the plane was reached; False if the path turns back, or leaves a map with `outside` error.
    ok: NDArray[np.bool_]
    # (n, 5, 5) derivatives of the end state, on its plane, with respect to the start state at its z.
    jacobian: NDArray[np.float64] | None


def propagate(
    field: FieldMap,
    polarity: int,
    states: NDArray[np.float64],
    z: ArrayLike,
    plane: tuple[ArrayLike, ArrayLike, ArrayLike],
    *,
    tolerance: float = 1e-4,
    jacobian: bool = False,
    threads: int | None = None,
) -> Propagated:
    """Carry states to planes, forwards or backwards.

    Fourth-order Runge-Kutta-Nystrom steps with error control (Lund et al., JINST 4 (2009) P04001). The
    polarity is +1 for MagUp, -1 for MagDown. States (n, 5) are (x, y, tx, ty, q/p) in mm, rad, 1/MeV at `z`
    in mm; planes are (z0, dzdx, dzdy): z = z0 + dzdx x + dzdy y, mm. These and `z` are numbers or (n,).
    `tolerance` is the largest estimated local error of one step, mm. With `jacobian`, the transport Jacobian
    is returned, too; it is exact for the steps taken. By default all cores work. A ParkfError reports
    states of another shape, another polarity, or a tolerance that is not positive.
    """
    start = np.ascontiguousarray(states, dtype=np.float64)
    if start.ndim != 2 or start.shape[1] != 5:
        raise ParkfError(f"propagate: states of shape {start.shape}, expected (n, 5)")
    if not tolerance > 0.0:
        raise ParkfError(f"propagate: tolerance {tolerance!r}, expected a positive length in mm")
    count = len(start)
    begin, *columns = (np.broadcast_to(np.asarray(one, dtype=np.float64), (count,)) for one in (z, *plane))
    planes = np.ascontiguousarray(np.column_stack(columns))
    run = _transport.propagate_with_jacobian if jacobian else _transport.propagate
    there, threads = field.for_polarity(polarity), threads or os.cpu_count() or 1
    ends, end_z, ok, *derivatives = run(there, start, np.ascontiguousarray(begin), planes, tolerance, threads)
    ends[~ok], end_z[~ok] = np.nan, np.nan
    return Propagated(ends, end_z, ok, derivatives[0] if jacobian else None)
