"""Nearest strips and fibres: one sorted array that holds all layers of all events."""

import numpy as np

_SPACING = 1e5
"""mm between the groups on the sorted axis; far more than any |x|."""


class LayerSearch:
    """Finds the hits of a group (a layer of an event, say) that lie nearest to a position.

    Parameters
    ----------
    group : (m,) int
        Which group a hit belongs to, from 0.
    x : (m,) float
        Positions in mm.
    """

    def __init__(self, group: np.ndarray, x: np.ndarray):
        key = group * _SPACING + x
        self._order = np.argsort(key, kind="stable")
        self._key = key[self._order]

    def around(self, group: np.ndarray, x: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Look up the `count` hits around each position, half of them on either side of it.

        Returns
        -------
        hits : (..., count) int
            Indices into the constructor's arrays; meaningless where the distance is infinite.
        distance : (..., count) float
            Hit minus position in mm, infinite where the group has no such hit.
        """
        key = group * _SPACING + x
        place = np.searchsorted(self._key, key)[..., None] + np.arange(-(count // 2), count - count // 2)
        inside = (place >= 0) & (place < len(self._key))
        place = np.where(inside, place, 0)
        if len(self._key) == 0:
            return place, np.full(place.shape, np.inf)
        distance = self._key[place] - key[..., None]
        # Another group's hits are further away than half the spacing.
        return self._order[place], np.where(inside & (np.abs(distance) < _SPACING / 4), distance, np.inf)

    def nearest(self, group: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Look up the nearest hit of each position's group and its distance, infinite where there is none."""
        hits, distance = self.around(group, x, 2)
        best = np.argmin(np.abs(distance), axis=-1)[..., None]
        return np.take_along_axis(hits, best, -1)[..., 0], np.take_along_axis(distance, best, -1)[..., 0]
