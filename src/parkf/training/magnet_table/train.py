"""Training of the magnet table: rays, a linear problem, and its accuracy on independent rays."""

from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from parkf.detector.field import FieldMap
from parkf.detector.geometry import Beam
from parkf.steps import TABLE_SHAPE
from parkf.training.magnet_table.accuracy import table_accuracy
from parkf.training.magnet_table.form import (
    BINS_X,
    BINS_Y,
    F64,
    Header,
    deviations,
    fit_header,
    inside_grid,
    polynomials,
    stencil,
)
from parkf.training.magnet_table.rays import Purpose, Rays, draw_rays
from parkf.training.magnet_table.solve import chebyshev_basis, monomials, solve_grid, stiffness
from parkf.training.magnet_table.table import MagnetTable

# Rays that end beyond the SciFi's edge only hold the polynomials of border bins in place. At full weight they
# would pull the tails inside several times wider.
EDGE = (3010.0, 2510.0)  # mm
EDGE_WEIGHT = 4e-4
FARTHEST = (3800.0, 3100.0)  # mm
# Independent rays that the table is tested on.
TEST_RAYS = 150_000


def train_table(
    field: FieldMap, *, z_in: float, z_out: float, beam: Beam, rays: int, seed: int, threads: int
) -> tuple[MagnetTable, dict[str, Any]]:
    """Train the 240,000 coefficients and measure them.

    Parameters
    ----------
    field : FieldMap
        All that the table depends on besides the two planes.
    z_in, z_out : float
        Planes that it connects, in mm.
    beam : Beam
        Where tracks come from.
    rays : int
        Tracks to draw for the training, best a power of two: a million determine every bin; half of that
        widens the tails by a tenth.
    seed : int
        Seed of the rays.
    threads : int
        Cores; the table does not depend on it.

    Returns
    -------
    MagnetTable, dict
        The table, and its accuracy: figures by momentum bin and component, ``fiducial`` and ``full``.
    """

    def draw(count: int, purpose: Purpose) -> Rays:
        return draw_rays(
            field, z_in=z_in, z_out=z_out, beam=beam, count=count, seed=seed, threads=threads, purpose=purpose
        )

    table = fit_table(draw(rays, "training"), z_in, z_out)
    return table, table_accuracy(table, draw(TEST_RAYS, "test"))


def fit_table(rays: Rays, z_in: float, z_out: float) -> MagnetTable:
    """Solve for header and coefficients; see :func:`train_table`."""
    header = fit_header(rays.start, rays.qop, z_in, z_out)
    near = (np.abs(rays.end[:, 0]) < FARTHEST[0]) & (np.abs(rays.end[:, 1]) < FARTHEST[1])
    rays = rays[near & inside_grid(header.numbers(), rays.start)]
    inner = (np.abs(rays.end[:, 0]) < EDGE[0]) & (np.abs(rays.end[:, 1]) < EDGE[1])
    row_weights = np.where(inner, 1.0, EDGE_WEIGHT)
    coefficients = np.zeros((BINS_X * BINS_Y, TABLE_SHAPE[2]))
    # One thread: the same sums in the same order on any machine.
    with threadpool_limits(1):
        for plane in ("x", "y"):
            _fit_plane(plane, rays, header, row_weights, coefficients)
    return MagnetTable(
        header.numbers().astype(np.float32), coefficients.reshape(TABLE_SHAPE).astype(np.float32)
    )


def _fit_plane(plane: str, rays: Rays, header: Header, row_weights: F64, coefficients: F64) -> None:
    """Fit position and slope of a plane, which share their matrix, into `coefficients` (bins, 80)."""
    components = (plane, f"t{plane}")
    pieces = {component: polynomials(component) for component in components}
    degrees = [place.stop - place.start for _, place in pieces[plane]]
    u_x, u_y, f = deviations(header, rays.start, rays.qop)
    cell, bins, weights = stencil(header, rays.start)
    solution = solve_grid(
        cell,
        bins,
        weights,
        chebyshev_basis(f, u_x, u_y, degrees),
        _targets(plane, rays, header, f),
        row_weights,
        stiffness(degrees),
    )
    ends = np.cumsum(degrees)
    for c, component in enumerate(components):
        for (_, place), end, degree in zip(pieces[component], ends, degrees, strict=True):
            coefficients[:, place] = monomials(solution[:, end - degree : end, c])


def _targets(plane: str, rays: Rays, header: Header, f: F64) -> F64:
    """Bending of position and slope divided by f: equal errors in units of the scattering, (n, 2)."""
    column = {"x": 0, "y": 1}[plane]
    slope = rays.start[:, column + 2]
    straight = rays.start[:, column] + (header.z_out - header.z_in) * slope
    return np.stack([rays.end[:, column] - straight, rays.end[:, column + 2] - slope], axis=1) / f[:, None]
