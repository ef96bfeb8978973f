"""Hits as a detector reports them: each occurs once, however many particles made it."""

from dataclasses import dataclass

import numpy as np

from parkf.io.events import select


@dataclass(frozen=True)
class Distinct:
    """Hits of a table that has a row for each particle of a hit.

    `hits` are columns (k,) of `parkf.io.tables.HITS`, one row a hit, in the order of the table; `rows` (k,)
    are the rows of the table that they come from, the first of each hit; `number` (m,) is the hit of each
    row.
    """

    hits: dict[str, np.ndarray]
    rows: np.ndarray
    number: np.ndarray

    def in_table(self, hits: np.ndarray) -> np.ndarray:
        """Rows of the table for rows of `hits`, any shape, -1 for none in both."""
        return np.where(hits >= 0, self.rows[hits], -1)


def distinct_hits(hits: dict[str, np.ndarray]) -> Distinct:
    """Join the rows of one hit; rows (m,) of `parkf.io.tables.HITS` are sorted by event, plane and x."""
    count = len(hits["event"])
    here = np.arange(count)
    # Rows of one hit have the same x, so they are adjacent up to other hits of the same x.
    begins = _begins(*(hits[name] for name in ("event", "plane", "x")))
    run = np.cumsum(begins)
    several = np.flatnonzero(~(begins & np.append(begins[1:], True)[:count]))
    order = several[np.lexsort([hits["z"][several], hits["y"][several], run[several]])]
    new = _begins(run[order], hits["y"][order], hits["z"][order])
    first = here.copy()
    # The sort is stable: the first row of a hit in it is the first in the table.
    first[order] = order[new][np.cumsum(new) - 1]
    taken = first == here
    rows = np.flatnonzero(taken)
    number = (np.cumsum(taken) - 1)[first]
    return Distinct(select(hits, rows), rows, number)


def _begins(*columns: np.ndarray) -> np.ndarray:
    """Rows (m,) in which one of the columns differs from the row before, and the first."""
    new = np.ones(len(columns[0]), bool)
    new[1:] = np.any([values[1:] != values[:-1] for values in columns], axis=0)
    return new
