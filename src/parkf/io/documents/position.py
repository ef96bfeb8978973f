"""Positions in a document, by keys and indices, and errors there."""

from collections.abc import Iterable

# Keys and indices, from the top level inwards.
Place = tuple[str | int, ...]

DEEPEST = 64
"""Levels of lists and mappings that a document may have."""


class DocumentError(ValueError):
    """A text that is no document: what is wrong, with line (from 1) and position if they are known."""

    def __init__(self, what: str, line: int | None = None, place: Place = ()) -> None:
        self.what = f"{dotted(place)}: {what}" if place else what
        self.line = line
        super().__init__(self.what if line is None else f"{self.what}, line {line}")


def dotted(place: Iterable[str | int]) -> str:
    """Text of a place: ``scifi.layers.3.dxdy``."""
    return ".".join(map(str, place))


def twice(key: object, line: int, first: int) -> DocumentError:
    """Error of a mapping that has a key twice."""
    return DocumentError(f"key '{key}' is there twice, first in line {first}; keep one of them", line)


def too_deep(line: int | None = None) -> DocumentError:
    """Error of a document that has too many levels."""
    return DocumentError(f"nested more than {DEEPEST} deep", line)
