"""Strips of the UT, and the search for those that a track crosses."""

import numpy as np

from parkf.detector.geometry import UT_PLANES, Geometry
from parkf.io.events import Columns
from parkf.io.planes import UT_LAYERS
from parkf.simulation.groups import LayerSearch, best_of_each
from parkf.simulation.response.hits import ut_row

_ROWS = 32


class Strips:
    """The UT's hits of some events, which are looked up by event, layer, row of sensors and place.

    Parameters
    ----------
    hits : dict of str to np.ndarray
        Columns (m,) of `parkf.io.tables.HITS`, of any detectors.
    geometry : Geometry
    taken : np.ndarray, optional
        Rows of `hits` that are left out, of any shape, -1 for none.

    Attributes
    ----------
    search : LayerSearch
        Finds the hits of a group; a group is a row of sensors in a layer of an event.
    rows : np.ndarray
        Row of `hits` for each index of the search, (k,).
    z, slope : np.ndarray
        Of the layers, (4,): z in mm, and dx/dy of strips.
    """

    def __init__(self, hits: Columns, geometry: Geometry, taken: np.ndarray | None = None):
        usable = (hits["plane"] >= UT_PLANES.start) & (hits["plane"] < UT_PLANES.stop)
        if taken is not None:
            usable[taken[taken >= 0]] = False
        self.rows = np.flatnonzero(usable)
        self.z = geometry.planes()[UT_PLANES, 0]
        self.slope = np.array([geometry.strip_slope(plane) for plane in UT_PLANES])
        self._first_event = hits["event"].min(initial=0)
        layer = (hits["plane"][self.rows] - UT_PLANES.start).astype(np.int64)
        # Sectors lie in front of their layer or behind it, so strips are projected from the origin to the
        # layer's z.
        seen = (hits["x"][self.rows] * (self.z[layer] / hits["z"][self.rows])).astype(hits["x"].dtype)
        event, row = hits["event"][self.rows] - self._first_event, ut_row(hits["y"][self.rows])
        self.search = LayerSearch(_group(event, layer, row), seen)

    def crossed(self, event: np.ndarray, y: np.ndarray, tolerance: float) -> np.ndarray:
        """Return groups (n, 4, 2) that tracks at y (n, 4) may cross: the lower row; the upper one, or -1."""
        lower, upper = ut_row(y - tolerance), ut_row(y + tolerance)
        own_event, layers = (event - self._first_event)[:, None], np.arange(UT_LAYERS)
        also = np.where(upper > lower, _group(own_event, layers, upper), -1)
        return np.stack([_group(own_event, layers, lower), also], axis=2)

    def best(
        self, count: int, track: np.ndarray, found: np.ndarray, misses: np.ndarray, score: np.ndarray
    ) -> np.ndarray:
        """Return the rows (count, 4) of the best trial of each track, -1 for a layer without a hit.

        Trials (m,) belong to a `track`, which ascends. They have indices of the search (m, 4), which count
        where the hit does not miss, and a score, which is infinite for trials that are none.
        """
        best = best_of_each(np.full(count, -1), track, np.arange(len(track)), score)
        good = np.flatnonzero(best >= 0)
        good = good[np.isfinite(score[best[good]])]
        taken = np.full((count, UT_LAYERS), -1)
        taken[good] = np.where(misses[best[good]], -1, self.rows[found[best[good]]])
        return taken


def _group(event: np.ndarray, layer: np.ndarray, row: np.ndarray) -> np.ndarray:
    return (event.astype(np.int64) * UT_LAYERS + layer) * _ROWS + np.clip(row + _ROWS // 2, 0, _ROWS - 1)
