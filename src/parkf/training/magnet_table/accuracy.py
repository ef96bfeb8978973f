"""How far the magnet table is from Runge–Kutta, on scattered tracks that it was not trained on."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from parkf.model.layout import HEADER
from parkf.training.magnet_table.form import F64
from parkf.training.magnet_table.rays import Rays
from parkf.training.magnet_table.table import MagnetTable
from parkf.training.spread import by_momentum, half_width

# Limits of the regions: |x/z_in|, |y/z_in|, and |x|, |y| at z_out in mm. LHCb quotes the accuracy of its own
# table for the first region. The second region is the whole grid up to the edge of the SciFi.
REGIONS = {"fiducial": (0.26, 0.20, 2500.0, 2000.0), "full": (0.30, 0.25, 3000.0, 2500.0)}


def table_accuracy(table: MagnetTable, rays: Rays) -> dict[str, Any]:
    """Return figures for ``fiducial`` and ``full``.

    Each region has a list of {p_min, p_max (GeV), component, q68, q99, largest (mm or rad), n}.
    """
    delta = table.extrapolate(rays.start, rays.qop, np.ones(len(rays))) - rays.end
    z_in = float(table.header[HEADER.index("z_in")])
    reach = np.abs(np.column_stack([rays.start[:, :2] / z_in, rays.end[:, :2]]))
    inside = {region: np.all(reach < np.array(limits), axis=1) for region, limits in REGIONS.items()}
    return {region: _figures(delta[mask], rays.qop[mask]) for region, mask in inside.items()}


def _figures(delta: F64, qop: F64) -> list[dict[str, Any]]:
    def figures(mask: NDArray[np.bool_], c: int) -> dict[str, float]:
        off = delta[mask, c]
        return {"q68": half_width(off), "q99": half_width(off, 0.99), "largest": float(np.abs(off).max())}

    return by_momentum(qop, figures)
