"""The one error type that users meet: what is wrong, where, what was got and expected, what to do."""

from pathlib import Path
from typing import Self


class ParkfError(Exception):
    """Bad input or an outcome that must stop the chain; the command line prints it and exits with 1."""


class DamagedFileError(ParkfError):
    """A file that holds other bytes than were written.

    Parameters
    ----------
    path : Path
    kind : str
        What it should be: "a Parquet file".
    why : str
        What does not fit.
    """

    def __init__(self, path: Path, kind: str, why: str) -> None:
        self.path = path
        super().__init__(
            f"{path}: not {kind} as it was written: {why}; make it again, or get it again from where it came"
        )

    @classmethod
    def said(cls, path: Path, message: str) -> Self:
        """Say it in other words, the file's name among them."""
        error = cls(path, "", "")
        error.args = (message,)
        return error
