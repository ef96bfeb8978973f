"""Training of the magnet table: rays, a linear problem, and its accuracy on independent rays."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from parkf.io.option_types import FormsName
from parkf.model.layout import TABLE_SHAPE
from parkf.model.steps import FORMS
from parkf.training.magnet_table import form
from parkf.training.magnet_table.accuracy import table_accuracy
from parkf.training.magnet_table.band import ACCURACY, BINS
from parkf.training.magnet_table.form import F64, I64, Header, summed_slopes
from parkf.training.magnet_table.rays import (
    Magnet,
    Rays,
    first_weights,
    independent_rays,
    second_weights,
    training_rays,
)
from parkf.training.magnet_table.solve import Rows, monomials, solve_grids
from parkf.training.magnet_table.table import MagnetTable

FARTHEST = (3800.0, 3100.0)  # mm
# Largest degrees in f, of the terms with 1, u_x and u_y, of fits that need not be as good as the table. They
# take a third of the time. One finds the rays in the tail, the other changes tx by some per mille.
ROUGH, CHANGE = (8, 4, 4), (9, 4, 4)
# Accuracy of the equations of these fits. With a millionth of it, no quantile of the small change's misfit
# differs by more than 0.8 %.
ROUGH_ACCURACY = 1e-4
# Independent rays that the table is tested on.
TEST_RAYS = 150_000


def train_table(
    magnet: Magnet, *, forms: FormsName, rays: int, seed: int
) -> tuple[MagnetTable, dict[str, Any]]:
    """Train the 240,000 coefficients on `rays` rays, and measure their accuracy.

    The table depends only on the field map, the beam and the two planes. Return it with the figures of
    :func:`table_accuracy`. A ParkfError is raised when the rays are too few.
    """
    bends = magnet.bends(seed)
    header = form.make_header(FORMS[forms].table, magnet.z_in, magnet.z_out, bends)
    table = fit_table(header, training_rays(magnet, bends, count=rays, seed=seed))
    return table, table_accuracy(table, independent_rays(magnet, count=TEST_RAYS, seed=seed))


def fit_table(header: Header, rays: Rays) -> MagnetTable:
    """Solve for the coefficients; see :func:`train_table`."""
    near = (np.abs(rays.end[:, 0]) < FARTHEST[0]) & (np.abs(rays.end[:, 1]) < FARTHEST[1])
    rays = rays[near & form.inside_grid(header.numbers, rays.start)]
    rays, rows, _, inner = _by_cell(header, rays)
    coefficients = np.zeros((BINS, TABLE_SHAPE[2]))

    def fit_planes(rows: Rows, **planes: tuple[list[int], float]) -> None:
        """Fit position and slope of planes, which have the same matrix, with these degrees and accuracy."""
        fits = [(_targets(plane, rays, header, rows.f), *how) for plane, how in planes.items()]
        for (plane, (own, _)), solution in zip(planes.items(), solve_grids(rows, fits), strict=True):
            for c, component in enumerate((plane, f"t{plane}")):
                for place, numbers in _of_bins(header, component, own, solution[:, :, c]):
                    coefficients[:, place] = numbers

    # One thread, so that sums keep their order.
    with threadpool_limits(1):
        # In the bending plane a first fit finds the rays in the tail. A second one weights them differently.
        fit_planes(rows, y=(_degrees(header, "y"), ACCURACY), x=(_at_most(header, ROUGH), ROUGH_ACCURACY))
        missed = _table(header, coefficients).extrapolate(rays.start, rays.qop, np.ones(len(rays))) - rays.end
        rows = replace(rows, weight=second_weights(inner, rows.weight, rows.f, missed[:, 0]))
        fit_planes(rows, x=(_degrees(header, "x"), ACCURACY))
    return _table(header, coefficients)


def fit_slope_change(table: MagnetTable, rays: Rays, wanted: F64) -> MagnetTable:
    """Fit a table, by least squares, whose tx at z_out is larger by `wanted` (n,) rad at `rays`; return it.

    Weights and regularisation are the same as in the training. Where there are no rays, the change is
    extrapolated smoothly.
    """
    header = Header.of(table.header)
    inside = form.inside_grid(header.numbers, rays.start)
    rays, wanted = rays[inside], wanted[inside]
    moved = rays.end.copy()
    moved[:, 2] += wanted
    gained = (summed_slopes(header.form, moved) - summed_slopes(header.form, rays.end))[:, 0]
    _, rows, order, _ = _by_cell(header, rays)
    targets = (gained[order] / rows.f)[:, None]
    degrees = _at_most(header, CHANGE)
    with threadpool_limits(1):
        (solution,) = solve_grids(rows, [(targets, degrees, ROUGH_ACCURACY)])
    coefficients = table.coefficients.astype(np.float64).reshape(BINS, -1)
    for place, numbers in _of_bins(header, "tx", degrees, solution[:, :, 0]):
        coefficients[:, place] += numbers
    return _table(header, coefficients)


def _degrees(header: Header, component: str) -> list[int]:
    return [place.stop - place.start for place in form.polynomials(header.form, component).values()]


def _at_most(header: Header, degrees: tuple[int, ...]) -> list[int]:
    return list(map(min, _degrees(header, "tx"), degrees))


def _of_bins(
    header: Header, component: str, degrees: list[int], solution: F64
) -> Iterator[tuple[slice, F64]]:
    """Yield the slice of a bin and the coefficients (bins, degree) of each polynomial of a component."""
    places = form.polynomials(header.form, component).values()
    polynomials = np.split(solution, np.cumsum(degrees)[:-1], axis=1)
    for place, degree, numbers in zip(places, degrees, polynomials, strict=True):
        yield slice(place.start, place.start + degree), monomials(numbers)


def _table(header: Header, coefficients: F64) -> MagnetTable:
    shaped = coefficients.reshape(TABLE_SHAPE).astype(np.float32)
    return MagnetTable(header.numbers.astype(np.float32), shaped)


def _by_cell(header: Header, rays: Rays) -> tuple[Rays, Rows, I64, NDArray[np.bool_]]:
    """Sort rays by their cells.

    Return the sorted rays, the rows of the linear problem, the order, and which rays are inner.
    """
    cell, bins, offsets = form.stencil(header, rays.start)
    order = np.argsort(cell, kind="stable")
    rays, offsets = rays[order], offsets[order]
    starts = np.flatnonzero(np.diff(cell[order], prepend=-1))
    u_x, u_y, f = form.deviations(header, rays.start, rays.qop)
    inner, weight = first_weights(rays, header["z_in"], f, offsets)
    u, ends = np.stack([u_x, u_y], axis=1), np.append(starts, len(order))
    return rays, Rows(offsets, bins[order[starts]], ends, u, f, weight), order, inner


def _targets(plane: str, rays: Rays, header: Header, f: F64) -> F64:
    """Return the bending of position and slope, divided by f, (n, 2).

    Its errors are then equal in units of the scattering.
    """
    column = {"x": 0, "y": 1}[plane]
    straight = rays.start[:, column] + (header["z_out"] - header["z_in"]) * rays.start[:, column + 2]
    gained = summed_slopes(header.form, rays.end) - summed_slopes(header.form, rays.start)
    return np.stack([rays.end[:, column] - straight, gained[:, column]], axis=1) / f[:, None]
