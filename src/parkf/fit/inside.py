"""States inside the magnet: tracks are carried between any two z, without Runge-Kutta."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import parkf._slices as _slices
from parkf.io.errors import ParkfError
from parkf.io.workers import default_workers
from parkf.params.slices import MagnetSlices

ELEMENTS = 15
"""Number of elements of the lower triangle of a covariance of x, y, tx, ty, q/p."""


@dataclass(frozen=True)
class Carried:
    """States at their targets."""

    states: NDArray[Any]  # (n, 5): x, y in mm, tx, ty in rad, q/p in 1/MeV, which does not change
    covariances: NDArray[Any]  # (n, 15): lower triangle, row by row, with the scattering on the way
    jacobians: NDArray[Any]  # (n, 4, 5): derivatives of x, y, tx, ty to the five numbers of the start
    ok: NDArray[np.bool_]  # (n,): False where a track left the grid, or its z are outside the slices


def carry_inside(
    slices: MagnetSlices,
    states: NDArray[Any],
    z_from: ArrayLike,
    z_to: ArrayLike,
    polarity: ArrayLike,
    *,
    covariances: NDArray[Any] | None = None,
    threads: int | None = None,
    build: str = "",
) -> Carried:
    """Carry states (n, 5) from one z to another, in mm, upstream or downstream.

    q/p is the one inside the magnet. `covariances` (n, 15) are lower triangles row by row, zeros by default.
    z and the polarity, +1 for MagUp, are numbers or (n,). The precision is that of the states, float32 or
    float64. The result does not depend on `threads`, by default all cores. `build` is one of
    ``parkf._slices.builds()``, by default the fastest. A ParkfError reports arrays that do not fit together.
    """
    precision = np.float32 if states.dtype == np.float32 else np.float64
    start = np.ascontiguousarray(states, dtype=precision)
    if start.ndim != 2 or start.shape[1] != 5:
        raise ParkfError(f"states inside the magnet: shape {start.shape}, expected (n, 5)")
    count = len(start)
    if covariances is None:
        covariances = np.zeros((count, ELEMENTS))
    if np.shape(covariances) != (count, ELEMENTS):
        raise ParkfError(
            f"states inside the magnet: covariances of shape {np.shape(covariances)}, "
            f"expected {(count, ELEMENTS)}"
        )

    def column(name: str, values: ArrayLike) -> NDArray[Any]:
        if np.shape(values) not in ((), (count,)):
            raise ParkfError(
                f"states inside the magnet: {name} of shape {np.shape(values)}, "
                f"expected a number or ({count},)"
            )
        return np.ascontiguousarray(np.broadcast_to(np.asarray(values, precision), (count,)))

    return Carried(
        *_slices.carry(
            *slices.for_kernel,
            start,
            np.ascontiguousarray(covariances, dtype=precision),
            column("z_from", z_from),
            column("z_to", z_to),
            column("polarity", polarity),
            threads=threads or default_workers(),
            build=build,
        )
    )
