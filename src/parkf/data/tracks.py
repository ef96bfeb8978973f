"""Candidates from files, with their events."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from parkf.fit.candidate_files import open_candidates
from parkf.fit.candidates import Candidates
from parkf.fit.displaced import join_candidates
from parkf.io.errors import ParkfError
from parkf.io.tables import MEASURED

Events = NDArray[np.int64]
"""Number of the event of each candidate, (n,)."""


def read_tracks(paths: Sequence[Path], fewest: int = 1) -> tuple[Events, Candidates]:
    """Read all candidates of files, and number their events; each file has other events.

    Without numbers of events, each candidate is from an event of its own.

    Fewer than `fewest` candidates raise a ParkfError. Other errors are those of
    :meth:`parkf.fit.candidate_files.CandidatesFile.batches`.
    """
    events, batches = [], []
    for number, path in enumerate(paths):
        with open_candidates(path) as file:
            for hits in file.batches(MEASURED.rows_in_group):
                own = hits.arrays["event"]
                event = (own if own.any() else hits.arrays["candidate"]).astype(np.int64)
                events.append(np.stack([np.full_like(event, number), event], axis=1))
                batches.append(hits.candidates("float32"))
    count = sum(map(len, events))
    if count < fewest:
        raise ParkfError(
            f"{' '.join(map(str, paths))}: {count} candidates, expected at least {fewest}; give more"
        )
    return np.unique(np.concatenate(events), axis=0, return_inverse=True)[1].ravel(), join_candidates(batches)
