"""The error that users see: it reports what is wrong and where, what was expected, and what to do."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self


class ParkfError(Exception):
    """Bad input or an outcome that must stop the chain; the command line prints it and exits with 1."""


class DamagedFileError(ParkfError):
    """A file of a `kind`, such as "a Parquet file", whose bytes are not those that were written."""

    def __init__(self, path: Path, kind: str, why: str) -> None:
        self.path = path
        super().__init__(
            f"{path}: not {kind} as it was written: {why}; make it again, or get it again from where it came"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # Without this, an error in a parallel worker would not reach the process that started it.
        return self.said, (self.path, str(self))

    @classmethod
    def said(cls, path: Path, message: str) -> Self:
        """Make the error with this message, which names the file."""
        error = cls(path, "", "")
        error.args = (message,)
        return error


def few(names: Iterable[object], most: int = 12, longest: int = 60) -> str:
    """List names for a message: the first ones, each at most `longest` letters, and the number of others."""
    texts = list(map(str, names))
    shown = [text if len(text) <= longest else f"{text[:longest]}…" for text in texts[:most]]
    more = f" and {len(texts) - most:,} more" if len(texts) > most else ""
    return f"{', '.join(shown) or 'none'}{more}"
