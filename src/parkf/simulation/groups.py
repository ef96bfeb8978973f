"""Groups of different lengths, one behind the other in flat arrays."""

import numpy as np


def ragged(first: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Spread out ranges.

    Parameters
    ----------
    first, end : (n,) int
        Each range without its end; empty where they are equal.

    Returns
    -------
    group, place : (m,) int
        Which range an entry is of, ascending, and its number in the range, from `first` on.
    """
    count = end - first
    group = np.repeat(np.arange(len(count)), count)
    return group, np.arange(len(group)) + (first - np.cumsum(count) + count)[group]


def best_of_each(default: np.ndarray, group: np.ndarray, value: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Give the value with the smallest score of each group, the first of equal ones.

    Parameters
    ----------
    default : (n,) int
        For groups that have no entry.
    group : (m,) int
        Ascending, each less than n.
    value : (m,) int
    score : (m,) float
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
