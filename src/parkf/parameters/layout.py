"""What the numbers of a parameter set are: their block, set, index, name and unit.

Order and shapes come from :mod:`parkf.steps.blocks`, since the kernel is generated from the same list.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from parkf.steps import BLOCKS, CONSTANT_COUNT, TABLE_SHAPE, Block, offsets
from parkf.steps.magnet import BINS, PIECES

# Grows with every change of what a number means or where it lies.
LAYOUT_VERSION = 1

assert CONSTANT_COUNT == 466, f"the trigger's constant blob has 466 numbers, the blocks give {CONSTANT_COUNT}"
assert TABLE_SHAPE == (60, 50, 80), f"the trigger's table is 60×50×80, the blocks give {TABLE_SHAPE}"


@dataclass(frozen=True)
class Number:
    """One number of a parameter set.

    Attributes
    ----------
    block, set, index : str, str, int
        Where it lies: `index` counts within the set.
    name, unit, text : str
        What it is.
    """

    block: str
    set: str
    index: int
    name: str
    unit: str
    text: str


def block(name: str) -> Block:
    """Return the block of this name; KeyError when there is none."""
    return {b.name: b for b in BLOCKS}[name]


def block_slice(name: str) -> slice:
    """Positions of a block in the constant blob."""
    rows, columns = block(name).shape
    start = offsets()[name]
    return slice(start, start + rows * columns)


def constant_numbers() -> Iterator[Number]:
    """Yield the 466 numbers in their order."""
    for b in BLOCKS:
        for label in b.sets:
            for index, (name, unit, text) in enumerate(b.columns):
                yield Number(b.name, label, index, name, unit, text)


def table_numbers() -> Iterator[Number]:
    """Yield the 240,000 numbers in their order: bins in x outermost, then bins in y, then coefficients."""
    kinds = list(_coefficients())
    for i in range(BINS[0]):
        for j in range(BINS[1]):
            for index, (name, unit, text) in enumerate(kinds):
                yield Number("UTT", f"bin {i},{j}", index, name, unit, text)


def _coefficients() -> Iterator[tuple[str, str, str]]:
    """Name, unit and text of a bin's 80 coefficients."""
    suffix = {"1": "00", "u_x": "10", "u_y": "01"}
    for piece in PIECES:
        unit = "mm" if piece.component in ("x", "y") else "rad"
        for power in range(1, piece.degree + 1):
            factor = "" if piece.factor == "1" else f"{piece.factor}·"
            yield (
                f"{piece.component}{suffix[piece.factor]}[{power}]",
                unit,
                f"{piece.component}, {factor}f^{power}",
            )
