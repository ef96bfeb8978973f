"""Candidates from files."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from parkf.fit.candidate_files import open_candidates
from parkf.fit.candidates import Candidates
from parkf.fit.displaced import joined
from parkf.fit.hits import Hits
from parkf.io.errors import ParkfError
from parkf.io.tables import MEASURED


def read_batches(paths: Sequence[Path]) -> Iterator[tuple[Hits, Candidates]]:
    """Yield the columns of files of candidates, and the candidates in them, some at a time.

    Errors are those of :meth:`parkf.fit.candidate_files.CandidatesFile.batches`.
    """
    for path in paths:
        with open_candidates(path) as file:
            for hits in file.batches(MEASURED.rows_in_group):
                yield hits, hits.candidates("float32")


def read_candidates(paths: Sequence[Path], fewest: int = 1) -> Candidates:
    """Read all candidates of files; fewer than `fewest` raise a ParkfError."""
    batches = [batch for _, batch in read_batches(paths)]
    count = sum(batch.count for batch in batches)
    if count < fewest:
        raise ParkfError(
            f"{' '.join(map(str, paths))}: {count} candidates, expected at least {fewest}; give more"
        )
    return joined(batches)
