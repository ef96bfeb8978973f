"""Hits as a detector gives them: each occurs once, however many particles made it."""

from dataclasses import dataclass

import numpy as np

_PLACE = ("event", "plane", "x", "y", "z")


@dataclass(frozen=True)
class Distinct:
    """Hits of a table that has a row for each particle of a hit.

    Attributes
    ----------
    hits : dict of (k,) arrays
        Columns of `parkf.tables.HITS`, one row a hit, in the order of the table.
    rows : (k,) int
        Row of the table that each was taken from, the first.
    number : (m,) int
        Of each row of the table, its hit.
    """

    hits: dict[str, np.ndarray]
    rows: np.ndarray
    number: np.ndarray

    def in_table(self, hits: np.ndarray) -> np.ndarray:
        """Rows of the table for rows of `hits`, any shape, -1 for none in both."""
        return np.where(hits >= 0, self.rows[hits], -1)


def distinct_hits(hits: dict[str, np.ndarray]) -> Distinct:
    """Join the rows of one hit.

    Parameters
    ----------
    hits : dict of (m,) arrays
        Columns of `parkf.tables.HITS`, sorted by event, plane and x.
    """
    count = len(hits["event"])
    # Rows of one hit have the same x, so they are adjacent up to other hits of the same x.
    order = np.lexsort([hits[name] for name in reversed(_PLACE)])
    new = np.ones(count, bool)
    for name in _PLACE:
        values = hits[name][order]
        same = np.concatenate([[False], values[1:] == values[:-1]])[:count]
        new = ~same if name == _PLACE[0] else new | ~same
    first = np.minimum.reduceat(order, np.flatnonzero(new)) if count else order
    rows = np.sort(first)
    number = np.empty(count, np.int64)
    number[order] = np.searchsorted(rows, first)[np.cumsum(new) - 1]
    return Distinct({name: values[rows] for name, values in hits.items()}, rows, number)
