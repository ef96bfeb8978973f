"""Where in a document something stands, and what is wrong there."""

from collections.abc import Iterable

# Keys and indices, from the top level inwards.
Place = tuple[str | int, ...]

DEEPEST = 64
"""Levels of lists and mappings that a document may have."""

INTEGERS = (-(2**63), 2**64 - 1)
"""The least and the largest that 64 bits hold, with a sign or without."""


class DocumentError(ValueError):
    """A text that is no document.

    Parameters
    ----------
    what : str
        What is wrong.
    line : int or None
        Where, from 1; None where that is not known.
    """

    def __init__(self, what: str, line: int | None = None) -> None:
        self.what, self.line = what, line
        super().__init__(what if line is None else f"{what}, line {line}")


def dotted(place: Iterable[str | int]) -> str:
    """Give a place in words: ``scifi.layers.3.dxdy``."""
    return ".".join(map(str, place))


def twice(key: object, line: int, first: int) -> DocumentError:
    """Say that a mapping has a key twice."""
    return DocumentError(f"key '{key}' is there twice, first in line {first}; keep one of them", line)


def too_deep(line: int | None = None) -> DocumentError:
    """Say that a document has too many levels."""
    return DocumentError(f"nested more than {DEEPEST} deep", line)
