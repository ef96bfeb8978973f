"""Candidates from files, batch by batch."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from parkf.fit.candidate_files import open_candidates
from parkf.fit.candidates import Candidates
from parkf.fit.hits import Hits
from parkf.io.tables import MEASURED


def event_kind_of(paths: Sequence[Path]) -> "np.dtype[Any]":
    """Return the type for the event numbers of files of candidates, int32 or int64."""
    kinds = []
    for path in paths:
        with open_candidates(path) as file:
            kinds.append(file.event_kind())
    return max(kinds, key=lambda kind: kind.itemsize)


def read_batches(
    paths: Sequence[Path], precision: str = "float32", size: int = MEASURED.rows_in_group
) -> Iterator[tuple[Hits, Candidates]]:
    """Yield the columns of files of candidates, and the candidates in them, up to `size` at a time.

    Errors are those of :meth:`parkf.fit.candidate_files.CandidatesFile.batches`.
    """
    for path in paths:
        with open_candidates(path) as file:
            for hits in file.batches(size):
                yield hits, hits.candidates(precision)
