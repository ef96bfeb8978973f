"""Block, set, index, name and unit of the numbers of a parameter set.

Order and shapes are those of :mod:`parkf.model.layout`, which the generator of the kernel writes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from parkf.model.layout import BINS, Layout, Piece


@dataclass(frozen=True)
class Number:
    """One number of a parameter set; `index` counts within the set, `text` is its meaning."""

    block: str
    set: str
    index: int
    name: str
    unit: str
    text: str


def constant_numbers(layout: Layout) -> Iterator[Number]:
    """Yield the numbers of the constant blob in their order."""
    for b in layout.blocks:
        for label in b.sets:
            for index, (name, unit, text, _) in enumerate(b.columns):
                yield Number(b.name, label, index, name, unit, text)


def table_numbers(pieces: Sequence[Piece]) -> Iterator[Number]:
    """Yield the 240,000 numbers in their order: bins in x outermost, then bins in y, then coefficients."""
    kinds = list(_coefficients(pieces))
    for i in range(BINS[0]):
        for j in range(BINS[1]):
            for index, (name, unit, text) in enumerate(kinds):
                yield Number("UTT", f"bin {i},{j}", index, name, unit, text)


def _coefficients(pieces: Sequence[Piece]) -> Iterator[tuple[str, str, str]]:
    """Yield name, unit and text of a bin's 80 coefficients."""
    suffix = {"1": "00", "u_x": "10", "u_y": "01"}
    for piece in pieces:
        unit = "mm" if piece.component in ("x", "y") else "rad"
        for power in range(1, piece.degree + 1):
            factor = "" if piece.factor == "1" else f"{piece.factor}·"
            name = f"{piece.component}{suffix[piece.factor]}[{power}]"
            yield name, unit, f"{piece.component}, {factor}f^{power}"
