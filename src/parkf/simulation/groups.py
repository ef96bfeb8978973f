"""Groups of different lengths, one behind the other in flat arrays."""

import numpy as np


def ragged(first: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Spread out ranges from `first` to `end`, (n,) each; a range is empty where they are equal.

    Return, for each entry, which range it is of, ascending, and its number in the range from `first` on,
    (m,) each.
    """
    count = end - first
    group = np.repeat(np.arange(len(count)), count)
    return group, np.arange(len(group)) + (first - np.cumsum(count) + count)[group]


def best_of_each(default: np.ndarray, group: np.ndarray, value: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Value with the smallest score of each group, the first of equal ones, (n,).

    `default` (n,) is for groups without an entry; `group` (m,), each less than n, ascends.
    """
    start = np.flatnonzero(np.diff(group, prepend=-1))
    if not len(start):
        return default
    least = np.repeat(np.minimum.reduceat(score, start), np.diff(start, append=len(group)))
    best = np.flatnonzero(score == least)[::-1]
    # Among equal indices NumPy keeps the value written last: entries run backwards, so the first best one
    # stays.
    result = default.copy()
    result[group[best]] = value[best]
    return result
