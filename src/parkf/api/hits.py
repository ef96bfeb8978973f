"""The example of candidates that comes with parkf."""

from pathlib import Path

from parkf.io.project import PROJECT


def example() -> Path:
    """Return the file of 400 candidates of the embedded simulation that comes with parkf.

    Its columns are those of the table ``candidates``; both polarities are in it. The same hits lie beside it
    as NumPy's arrays, ``candidates.npz``, for an installation without Arrow.
    """
    return PROJECT / "examples/candidates.parquet"
