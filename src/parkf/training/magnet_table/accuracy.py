"""How far the magnet table is from Runge–Kutta, on scattered tracks that it was not trained on."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.layout import HEADER
from parkf.training.magnet_table.form import F64
from parkf.training.magnet_table.rays import Rays
from parkf.training.magnet_table.table import MagnetTable
from parkf.training.momentum import FEWEST_ROWS, half_width, momentum_bins
from parkf.training.rows import COMPONENTS

# (x/z_in, y/z_in at most, |x|, |y| at z_out at most in mm): LHCb's own table is quoted for the first region,
# the second is the whole grid to the edge of the SciFi.
REGIONS = {"fiducial": (0.26, 0.20, 2500.0, 2000.0), "full": (0.30, 0.25, 3000.0, 2500.0)}


def table_accuracy(table: MagnetTable, rays: Rays) -> dict[str, list[dict[str, Any]]]:
    """Return figures for ``fiducial`` and ``full``.

    Returns
    -------
    dict
        Per region a list of {p_min, p_max (GeV), component, q68, q99, largest (mm or rad), n}.
    """
    delta = table.extrapolate(rays.start, rays.qop, np.ones(len(rays))) - rays.end
    z_in = float(table.header[HEADER.index("z_in")])
    return {
        region: _figures(delta[mask], rays.qop[mask])
        for region, limits in REGIONS.items()
        for mask in [_inside(rays, z_in, limits)]
    }


def _inside(rays: Rays, z_in: float, limits: tuple[float, float, float, float]) -> NDArray[np.bool_]:
    reach = np.abs(np.column_stack([rays.start[:, :2] / z_in, rays.end[:, :2]]))
    return np.all(reach < np.array(limits), axis=1)


def _figures(delta: F64, qop: F64) -> list[dict[str, Any]]:
    return [
        {
            "p_min": low,
            "p_max": high,
            "component": component,
            "q68": half_width(delta[mask, c]),
            "q99": half_width(delta[mask, c], 0.99),
            "largest": float(np.abs(delta[mask, c]).max()),
            "n": int(mask.sum()),
        }
        for low, high, mask in momentum_bins(qop)
        if mask.sum() >= FEWEST_ROWS
        for c, component in enumerate(COMPONENTS)
    ]
