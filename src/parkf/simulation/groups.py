"""Groups of different lengths, stored one behind the other in flat arrays, and searches in these groups."""

import numpy as np

_SPACING = 1e5  # mm between the groups on the sorted axis; far more than any |x|
# Largest number of hits on either side of a position; the axis has as many places of no hit at both ends.
_MOST, _NOWHERE = 16, -2


def ragged(first: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Spread out ranges from `first` to `end`, (n,) each; a range is empty where they are equal.

    Return the number of the range of each entry, in ascending order, and the entry's value, which counts from
    `first`; (m,) each.
    """
    count = end - first
    group = np.repeat(np.arange(len(count)), count)
    return group, np.arange(len(group)) + (first - np.cumsum(count) + count)[group]


def best_of_each(default: np.ndarray, group: np.ndarray, value: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Return the value with the smallest score in each group, (n,), and the first one of equal scores.

    `default` (n,) is the value of groups without an entry. `group` (m,) ascends, and is less than n.
    """
    start = np.flatnonzero(np.diff(group, prepend=-1))
    if not len(start):
        return default
    least = np.repeat(np.minimum.reduceat(score, start), np.diff(start, append=len(group)))
    best = np.flatnonzero(score == least)[::-1]
    # If an index occurs several times, NumPy keeps the value written last. Entries are written backwards, so
    # the first of the best entries stays.
    result = default.copy()
    result[group[best]] = value[best]
    return result


class LayerSearch:
    """Finds the hits of a group (for example a layer of an event) that lie nearest to a position.

    Hits have the number of a group, from 0, and a position in mm, (m,) each.
    """

    def __init__(self, group: np.ndarray, x: np.ndarray):
        key = group * _SPACING + x
        order = np.argsort(key, kind="stable")
        self._key = key[order]
        self._order, self._group, self._x = (
            np.pad(values, _MOST, constant_values=end)
            for values, end in ((order, 0), (group[order], _NOWHERE), (x[order], 0))
        )

    def around(self, group: np.ndarray, x: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Look up the `count` hits around each position (...,), half of them on either side of it.

        Return indices into the constructor's arrays and distances, hit minus position in mm, (..., count)
        each. Where the group has no such hit, the distance is infinite and the index is meaningless. `count`
        is at most twice :data:`_MOST`.
        """
        group, x = group[..., None], x[..., None]
        steps = np.arange(-(count // 2), count - count // 2)
        place = np.searchsorted(self._key, group * _SPACING + x) + (steps + _MOST)
        # Distances are differences of the original positions, because rounding on the common axis grows with
        # the number of the group.
        distance = np.where(self._group[place] == group, self._x[place] - x, np.inf)
        return self._order[place], distance

    def nearest(self, group: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Look up the nearest hit of each position's group and its distance, infinite where there is none."""
        return nearer(*self.around(group, x, 2))


def nearer(hits: np.ndarray, distance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Choose the nearer of two hits (..., 2), the first of equal ones, and its distance."""
    second = np.abs(distance[..., 1]) < np.abs(distance[..., 0])
    hit, away = (np.where(second, values[..., 1], values[..., 0]) for values in (hits, distance))
    return hit, away
