"""A document that was read from a file: its content, and the line of every value."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from parkf.io.documents import json_text, yaml_text
from parkf.io.documents.position import DocumentError, Place
from parkf.io.errors import ParkfError
from parkf.io.files import existing

LARGEST = 16 << 20
"""Bytes of a document."""


@dataclass(frozen=True)
class Document:
    """A YAML or JSON file that somebody wrote, or a part of it."""

    path: Path
    content: Any  # mappings, lists, text, numbers, truths and None
    _find_lines: Callable[[], Mapping[Place, int]]
    within: Place = ()  # leads from the file's top level to the content

    @cached_property
    def _lines(self) -> Mapping[Place, int]:
        return self._find_lines()

    def inside(self, place: Place) -> "Document":
        """Return a part as a document of its own."""
        content = self.content
        for name in place:
            content = content[name]
        return Document(self.path, content, lambda: self._lines, (*self.within, *place))

    def where(self, place: Place) -> str:
        """File and line of a value, such as ``run3.yaml:12``; a missing value has those of its parent."""
        place = (*self.within, *place)
        while place and place not in self._lines:
            place = place[:-1]
        # A mistake of the whole document is not attributed to its first line.
        return f"{self.path}:{self._lines[place]}" if place else str(self.path)


def read_text(path: Path) -> str:
    """Read a file of text; a ParkfError if it is missing, larger than `LARGEST`, or not UTF-8."""
    size = existing(path).stat().st_size
    if size > LARGEST:
        raise ParkfError(f"{path}: {size} bytes, expected a document of at most {LARGEST}; correct the name")
    return _text(path, path.read_bytes())


def read_document(path: Path) -> Document:
    """Read a YAML file, or JSON where the name ends in .json.

    A ParkfError reports a missing file; and, with the line, text that cannot be parsed, a key that is there
    twice, and a number that is not finite.
    """
    return _document(path, read_text(path))


def document_of(path: Path, content: bytes) -> Document:
    """Make a document of the bytes that a file has, as :func:`read_document` does."""
    return _document(path, _text(path, content))


def _text(path: Path, content: bytes) -> str:
    try:
        # Some editors begin a file with a byte order mark, which utf-8-sig removes.
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ParkfError(
            f"{path}:{line}: byte 0x{content[error.start]:02x} is no UTF-8, expected text;"
            " save the file as UTF-8"
        ) from error


def _document(path: Path, text: str) -> Document:
    kind = "JSON" if path.suffix == ".json" else "YAML"
    try:
        if kind == "JSON":
            return Document(path, json_text.parse(text), lambda: _lines(text))
        content, lines = yaml_text.parse(text)
    except DocumentError as problem:
        where = path if problem.line is None else f"{path}:{problem.line}"
        raise ParkfError(
            f"{where}: not a {kind} file that can be read: {_remedied(problem.what, kind)}"
        ) from problem
    return Document(path, content, lambda: lines)


def _lines(text: str) -> Mapping[Place, int]:
    """Return the line of each value of JSON, by the reader of YAML: JSON is YAML, with rare exceptions."""
    with suppress(DocumentError):
        return yaml_text.parse(text)[1]
    return {}


def _remedied(what: str, kind: str) -> str:
    """Add to a mistake what is expected and what to do, unless it has that."""
    what = what if "expected" in what else f"{what}, expected plain {kind}"
    return what if ";" in what else f"{what}; correct it there"
