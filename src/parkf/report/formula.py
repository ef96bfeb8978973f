"""Formulas as MathML, in pieces, because browsers break lines only between formulas."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from latex2mathml.converter import convert
from markupsafe import Markup

# Number of LaTeX characters at which a piece is complete, and at which it is too long for a printed page.
_PIECE, _LONG = 60, 220
_TOKEN = re.compile(r"\\left\\?.|\\right\\?.|[{}]|\\[A-Za-z]+|\\.|\s+|.")
_BINARY = frozenset("=+-")


@dataclass(frozen=True)
class Formula:
    """A formula in MathML."""

    mathml: Markup
    long: bool  # whether it is long and some of it cannot be broken


def typeset(latex: str) -> Formula:
    """Typeset one line of LaTeX; the converter escapes its text."""
    found = list(pieces(latex))
    markup = Markup("\n").join(Markup(convert(piece)) for piece in found)
    return Formula(markup, max(map(len, found)) > _LONG)


def pieces(latex: str) -> Iterator[str]:
    """Break a formula between terms and factors outside all brackets; no part of it is lost."""
    piece = ""
    for part in _parts(latex):
        # A sign stays with the term that follows it.
        if len(piece) > _PIECE and piece.strip()[-1] not in _BINARY:
            yield piece.strip()
            piece = ""
        piece += f" {part}"
    if piece.strip():
        yield piece.strip()


def _parts(latex: str) -> Iterator[str]:
    part, depth = "", 0
    for token in _TOKEN.findall(latex):
        depth += (token == "{" or token.startswith(r"\left")) - (token == "}" or token.startswith(r"\right"))
        if token.isspace() and depth == 0:
            yield part
            part = ""
        else:
            part += token
    yield part
