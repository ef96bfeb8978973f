"""Block, set, index, name and unit of each number in a parameter set, and its entry in the manifest.

Order and shapes are those of :mod:`parkf.model.layout`, which the generator of the kernel writes.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parkf.model.layout import BINS, Block, Layout, Piece
from parkf.params.manifest import BlockDescription, NumberDescription, SetDescription, Slices

# Errors by block, set and index.
Errors = Mapping[tuple[str, int, int], float | None]

_POWER = re.compile(r"(1e-?\d+|10)(?: |(?=/)|$)")


def describe(layout: Layout, constant: NDArray[np.float32], errors: Errors) -> list[BlockDescription]:
    """Describe every number of `constant`, (m,) float32 in the order of the blocks."""
    return [
        describe_block(block, constant[layout.block_slice(block.name)], errors) for block in layout.blocks
    ]


def errors_of(layout: list[BlockDescription]) -> dict[tuple[str, int, int], float | None]:
    """Return the errors of a description, for :func:`describe`."""
    return {
        (block.name, i, j): number.error
        for block in layout
        for i, one in enumerate(block.sets)
        for j, number in enumerate(one.numbers)
    }


def split_unit(unit: str) -> tuple[float, str]:
    """Split a unit with a power of ten: '1e2 mm MeV' is 100 and 'mm MeV', '1e-5/mm' is 1e-5 and '1/mm'."""
    found = _POWER.match(unit)
    if found is None:
        return 1.0, unit or "1"
    rest = unit[found.end() :]
    return float(found[1]), "1" + rest if not rest or rest.startswith("/") else rest


def shortest(value: np.float32) -> float:
    """Return the float with the shortest text that reads back as the same float32."""
    return float(str(value))


def describe_block(block: Block, values: NDArray[np.float32], errors: Errors) -> BlockDescription:
    """Describe every number of a block; `values` are (sets, columns) float32 or flattened."""
    rows, sets = values.reshape(block.shape), []
    for i, label in enumerate(block.sets):
        numbers = []
        for j, (name, unit, text, parity) in enumerate(block.columns):
            scale, unit = split_unit(unit)
            about = {"name": name, "text": text, "unit": unit, "scale": scale}
            about |= {"value": shortest(rows[i, j]), "error": errors.get((block.name, i, j))}
            about["parity"] = -1 if parity < 0 else 1
            numbers.append(NumberDescription.model_validate(about))
        sets.append(SetDescription(label=label, numbers=numbers))
    return BlockDescription(name=block.name, sets=sets)


@dataclass(frozen=True)
class Number:
    """One number of a parameter set; `index` counts within the set."""

    block: str
    set: str
    index: int
    name: str
    unit: str


def table_numbers(pieces: Sequence[Piece]) -> Iterator[Number]:
    """Yield the 240,000 numbers in their order: bins in x outermost, then bins in y, then coefficients."""
    coefficients = []
    for piece in pieces:
        name = piece.component + {"1": "00", "u_x": "10", "u_y": "01"}[piece.factor]
        unit = "mm" if piece.component in ("x", "y") else "rad"
        coefficients += [(f"{name}[{power}]", unit) for power in range(1, piece.degree + 1)]
    for i in range(BINS[0]):
        for j in range(BINS[1]):
            for index, coefficient in enumerate(coefficients):
                yield Number("UTT", f"bin {i},{j}", index, *coefficient)


def slice_numbers(slices: Slices) -> Iterator[Number]:
    """Yield the numbers of the steps inside the magnet in their order: by slice, node in x, node in y."""
    for k in range(len(slices.centre)):
        for i in range(slices.nodes_x):
            for j in range(slices.nodes_y):
                for index, name in enumerate(slices.maps):
                    yield Number("SLICES", f"slice {k}, node {i},{j}", index, name, "MeV/mm")
