"""Block, set, index, name and unit of each number in the blocks of a set: its entry in the manifest.

Order and shapes are those of :mod:`parkf.model.layout`, which the generator of the kernel writes.
"""

import re
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from parkf.model.layout import Block, Layout
from parkf.params.manifest import BlockDescription, NumberDescription, SetDescription

# Errors by block, label of the set, and index.
Errors = Mapping[tuple[str, str, int], float | None]

_POWER = re.compile(r"(1e-?\d+|10)(?: |(?=/)|$)")


def describe(layout: Layout, constant: NDArray[np.float32], errors: Errors) -> list[BlockDescription]:
    """Describe every number of `constant`, (m,) float32 in the order of the blocks."""
    return [
        describe_block(block, constant[layout.block_slice(block.name)], errors) for block in layout.blocks
    ]


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
    for label, row in zip(block.sets, rows, strict=True):
        numbers = []
        for j, (name, unit, text, parity) in enumerate(block.columns):
            scale, unit = split_unit(unit)
            about = {"name": name, "text": text, "unit": unit, "scale": scale}
            about |= {"value": shortest(row[j]), "error": errors.get((block.name, label, j))}
            about["parity"] = -1 if parity < 0 else 1
            numbers.append(NumberDescription.model_validate(about))
        sets.append(SetDescription(label=label, numbers=numbers))
    return BlockDescription(name=block.name, sets=sets)
