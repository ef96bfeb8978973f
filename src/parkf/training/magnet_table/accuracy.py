"""How far the magnet table is from Runge–Kutta, on scattered tracks that it was not trained on."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.model.layout import HEADER
from parkf.training.magnet_table.form import F64
from parkf.training.magnet_table.rays import Rays
from parkf.training.magnet_table.table import MagnetTable
from parkf.training.rows import COMPONENTS
from parkf.training.spread import by_momentum, half_width, momentum_bins

# Limits of the regions: |x/z_in|, |y/z_in|, and |x|, |y| at z_out in mm. LHCb quotes the accuracy of its own
# table for the first region. The second region is the whole grid up to the edge of the SciFi.
REGIONS = {"fiducial": (0.26, 0.20, 2500.0, 2000.0), "full": (0.30, 0.25, 3000.0, 2500.0)}
# Edges of a map's cells in x/z_in and y/z_in, and the fewest rays for a figure in a cell.
MAP_X, MAP_Y = np.linspace(-0.30, 0.30, 11), np.linspace(-0.25, 0.25, 9)
FEWEST_RAYS = 40


def table_accuracy(table: MagnetTable, rays: Rays) -> dict[str, Any]:
    """Return figures for ``fiducial`` and ``full``, and maps.

    Each region has a list of {p_min, p_max (GeV), component, q68, q99, largest (mm or rad), n}.
    ``maps`` has ``x`` and ``y``, the edges of the cells at z_in in mm, and ``cells``, a list of {p_min,
    p_max, component, q68}. There q68 is (rows of y, columns of x) in mm or rad, and None where rays are few.
    """
    delta = table.extrapolate(rays.start, rays.qop, np.ones(len(rays))) - rays.end
    z_in = float(table.header[HEADER.index("z_in")])
    reach = np.abs(np.column_stack([rays.start[:, :2] / z_in, rays.end[:, :2]]))
    inside = {region: np.all(reach < np.array(limits), axis=1) for region, limits in REGIONS.items()}
    figures = {region: _figures(delta[mask], rays.qop[mask]) for region, mask in inside.items()}
    return {**figures, "maps": _maps(delta[inside["full"]], rays[inside["full"]], z_in)}


def _maps(delta: F64, rays: Rays, z_in: float) -> dict[str, Any]:
    """Tabulate the misfit by position at z_in, momentum and component."""
    column, row = (
        np.clip(np.digitize(rays.start[:, axis] / z_in, edges) - 1, 0, len(edges) - 2)
        for axis, edges in enumerate((MAP_X, MAP_Y))
    )
    columns, rows = len(MAP_X) - 1, len(MAP_Y) - 1
    place, count = row * columns + column, rows * columns

    def by_cell(mask: NDArray[np.bool_]) -> list[NDArray[np.intp]]:
        order = np.flatnonzero(mask)
        order = order[np.argsort(place[order], kind="stable")]
        return np.split(order, np.searchsorted(place[order], range(1, count)))

    def figure(cell: NDArray[np.intp], c: int) -> float | None:
        # Four digits are enough for a map, which is only drawn.
        return float(f"{half_width(delta[cell, c]):.4g}") if len(cell) >= FEWEST_RAYS else None

    return {
        "x": [round(float(edge), 3) for edge in z_in * MAP_X],
        "y": [round(float(edge), 3) for edge in z_in * MAP_Y],
        "cells": [
            {
                "p_min": low,
                "p_max": high,
                "component": component,
                "q68": [
                    [figure(cell, c) for cell in cells[begin : begin + columns]]
                    for begin in range(0, count, columns)
                ],
            }
            for low, high, mask in momentum_bins(rays.qop)
            for cells in [by_cell(mask)]
            for c, component in enumerate(COMPONENTS)
        ],
    }


def _figures(delta: F64, qop: F64) -> list[dict[str, Any]]:
    def figures(mask: NDArray[np.bool_], c: int) -> dict[str, float]:
        off = delta[mask, c]
        return {"q68": half_width(off), "q99": half_width(off, 0.99), "largest": float(np.abs(off).max())}

    return by_momentum(qop, figures)
