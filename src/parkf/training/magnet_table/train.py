"""Training of the magnet table: rays, a linear problem, and its accuracy on independent rays."""

from dataclasses import replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from parkf.io.option_types import FormsName
from parkf.model.layout import TABLE_SHAPE
from parkf.model.steps import FORMS
from parkf.training.magnet_table.accuracy import table_accuracy
from parkf.training.magnet_table.band import Precision
from parkf.training.magnet_table.form import (
    BINS_X,
    BINS_Y,
    F64,
    I64,
    Header,
    deviations,
    inside_grid,
    make_header,
    polynomials,
    stencil,
    summed_slopes,
)
from parkf.training.magnet_table.rays import Magnet, Rays, independent_rays, training_rays
from parkf.training.magnet_table.solve import monomials, solve_grid
from parkf.training.magnet_table.sums import Rows
from parkf.training.magnet_table.table import MagnetTable
from parkf.training.magnet_table.weights import Weights, first_weights, second_weights

FARTHEST = (3800.0, 3100.0)  # mm
# Independent rays that the table is tested on.
TEST_RAYS = 150_000


def train_table(
    magnet: Magnet, *, forms: FormsName, rays: int, seed: int
) -> tuple[MagnetTable, dict[str, Any]]:
    """Train the 240,000 coefficients and measure them.

    Besides the field map, the table depends on the two planes only.

    Parameters
    ----------
    magnet : Magnet
        The field between the two planes that the table connects.
    forms : {'improved', 'production'}
        What the coefficients of a bin multiply.
    rays : int
        Tracks to draw for the training, best a power of two.
    seed : int
        Seed of the rays.

    Returns
    -------
    MagnetTable, dict
        The table, and its accuracy: figures by momentum bin and component, ``fiducial`` and ``full``.

    Raises
    ------
    ParkfError
        When the rays are too few.
    """
    bends = magnet.bends(seed)
    header = make_header(FORMS[forms].table, magnet.z_in, magnet.z_out, bends)
    table = fit_table(header, training_rays(magnet, bends, count=rays, seed=seed), magnet.threads)
    return table, table_accuracy(table, independent_rays(magnet, count=TEST_RAYS, seed=seed))


def fit_table(header: Header, rays: Rays, threads: int) -> MagnetTable:
    """Solve for the coefficients; see :func:`train_table`."""
    near = (np.abs(rays.end[:, 0]) < FARTHEST[0]) & (np.abs(rays.end[:, 1]) < FARTHEST[1])
    rays = rays[near & inside_grid(header.numbers, rays.start)]
    rays, rows, _, weights = _by_cell(header, rays)
    coefficients = np.zeros((BINS_X * BINS_Y, TABLE_SHAPE[2]))

    def fit_plane(plane: str, rows: Rows, precision: Precision = np.float64) -> None:
        """Fit position and slope of a plane, which have the same matrix."""
        pieces = [polynomials(header.form, component) for component in (plane, f"t{plane}")]
        degrees = [place.stop - place.start for _, place in pieces[0]]
        solution = solve_grid(rows, _targets(plane, rays, header, rows.f), degrees, threads, precision)
        for c, of_component in enumerate(pieces):
            for (_, place), end, degree in zip(of_component, np.cumsum(degrees), degrees, strict=True):
                coefficients[:, place] = monomials(solution[:, end - degree : end, c])

    # The cores work on two halves of the problem rather than on each matrix product, so that all sums keep
    # their order.
    with threadpool_limits(1):
        fit_plane("y", rows)
        # In the bending plane a first fit finds the rays in the tail, and a second one weights them
        # differently.
        fit_plane("x", rows, np.float32)
        missed = _table(header, coefficients).extrapolate(rays.start, rays.qop, np.ones(len(rays))) - rays.end
        rows = replace(rows, weight=second_weights(weights, rows.f, missed[:, 0]))
        fit_plane("x", rows)
    return _table(header, coefficients)


def fit_slope_change(table: MagnetTable, rays: Rays, wanted: F64, threads: int) -> MagnetTable:
    """Return a table whose tx at z_out is larger by `wanted` (n,) rad, at `rays`, by least squares.

    Weights and regularisation are those of the training; where there are no rays, the change is extrapolated
    smoothly.
    """
    header = Header.of(table.header)
    inside = inside_grid(header.numbers, rays.start)
    rays, wanted = rays[inside], wanted[inside]
    moved = rays.end.copy()
    moved[:, 2] += wanted
    gained = (summed_slopes(header.form, moved) - summed_slopes(header.form, rays.end))[:, 0]
    _, rows, order = _by_cell(header, rays)[:3]
    pieces = polynomials(header.form, "tx")
    degrees = [place.stop - place.start for _, place in pieces]
    with threadpool_limits(1):
        solution = solve_grid(rows, (gained[order] / rows.f)[:, None], degrees, threads, np.float32)
    coefficients = table.coefficients.astype(np.float64).reshape(BINS_X * BINS_Y, -1)
    for (_, place), end, degree in zip(pieces, np.cumsum(degrees), degrees, strict=True):
        coefficients[:, place] += monomials(solution[:, end - degree : end, 0])
    return _table(header, coefficients)


def _table(header: Header, coefficients: F64) -> MagnetTable:
    return MagnetTable(
        header.numbers.astype(np.float32), coefficients.reshape(TABLE_SHAPE).astype(np.float32)
    )


def _by_cell(header: Header, rays: Rays) -> tuple[Rays, Rows, I64, Weights]:
    """Sort rays by their cells; return them, the rows of the linear problem, their order (n,) and weights."""
    cell, bins, offsets = stencil(header, rays.start)
    order = np.argsort(cell, kind="stable")
    rays, offsets = rays[order], offsets[order]
    starts = np.flatnonzero(np.diff(cell[order], prepend=-1))
    u_x, u_y, f = deviations(header, rays.start, rays.qop)
    weights = first_weights(rays, header["z_in"], f, offsets)
    rows = Rows(
        offsets=offsets,
        bins=bins[order[starts]],
        starts=np.append(starts, len(order)),
        u=np.stack([u_x, u_y], axis=1),
        f=f,
        weight=weights.values,
    )
    return rays, rows, order, weights


def _targets(plane: str, rays: Rays, header: Header, f: F64) -> F64:
    """Bending of position and slope divided by f: equal errors in units of the scattering, (n, 2)."""
    column = {"x": 0, "y": 1}[plane]
    straight = rays.start[:, column] + (header["z_out"] - header["z_in"]) * rays.start[:, column + 2]
    gained = summed_slopes(header.form, rays.end) - summed_slopes(header.form, rays.start)
    return np.stack([rays.end[:, column] - straight, gained[:, column]], axis=1) / f[:, None]
