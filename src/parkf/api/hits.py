"""Candidates that users give: the path of a file, or a container; and the example that comes with parkf."""

from pathlib import Path
from typing import Any

from parkf.fit.hits import Hits, hits_of
from parkf.io.extras import extras_named
from parkf.io.project import PROJECT


def example() -> Path:
    """Return the file of 400 candidates of the embedded simulation that comes with parkf.

    Its columns are those of the table ``candidates``; both polarities are in it. The same hits lie beside it
    as NumPy's arrays, ``candidates.npz``, for an installation without Arrow.
    """
    return PROJECT / "examples/candidates.parquet"


@extras_named()
def hits_given(hits: Any) -> Hits:
    """Return candidates of a file, or of a container that :func:`parkf.fit.hits.hits_of` takes."""
    if not isinstance(hits, str | Path):
        return hits_of(hits)
    # Arrays in memory need no Arrow.
    from parkf.fit.candidate_files import open_candidates

    with open_candidates(Path(hits)) as file:
        return file.read_all()
