"""Impact parameters, the distance of a fitted track from its true vertex, against 1/pT."""

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from parkf.io.track_columns import Rows
from parkf.proof.validation.core import fit_core

EDGES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)  # 1/pT in 1/GeV
_ENOUGH = 50  # tracks below which a bin says nothing


def impact_parameters(rows: Rows) -> list[dict[str, float]]:
    """Measure the resolution of both impact parameters and their pulls.

    The impact parameter along x is the distance in x between the fitted line and the true vertex, at the
    vertex's z; likewise along y. Its variance is that of the fit, propagated along the line.

    Parameters
    ----------
    rows : Rows
        Genuine tracks with a good fit, columns of :class:`parkf.fit.sample.Sample`.

    Returns
    -------
    list of dict
        Bins ``{low, high, n}`` of 1/pT (1/GeV) with the core widths ``x`` and ``y`` (mm), those of the pulls,
        ``pull_x`` and ``pull_y``, and ``<name>_error`` of the four.
    """
    inverse_pt = 1000.0 / (rows["p_true"] * np.sin(np.arctan(np.hypot(rows["true_tx"], rows["true_ty"]))))
    bins = []
    for low, high in pairwise(EDGES):
        inside = rows[(inverse_pt >= low) & (inverse_pt < high)]
        if len(inside) < _ENOUGH:
            continue
        entry: dict[str, float] = {"low": low, "high": high, "n": len(inside)}
        for axis in ("x", "y"):
            distance, sigma = _impact(inside, axis)
            for name, values in ((axis, distance), (f"pull_{axis}", distance / sigma)):
                core = fit_core(values)
                entry |= {name: core.width, f"{name}_error": core.width_error}
        bins.append(entry)
    return bins


def _impact(rows: Rows, axis: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Distance from the vertex along an axis and its σ, mm."""
    names = [axis, f"true_{axis}", f"t{axis}", f"true_t{axis}", axis * 2, f"{axis}t{axis}", f"t{axis}t{axis}"]
    fitted, true, slope, true_slope, xx, xt, tt = (np.asarray(rows[name], np.float64) for name in names)
    # true_x lies on the true line at the fitted z.
    way = np.asarray(rows["true_z"] - rows["z"], np.float64)
    distance = fitted - true + (slope - true_slope) * way
    return distance, np.sqrt(xx + 2 * way * xt + way**2 * tt)
