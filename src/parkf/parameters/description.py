"""What the manifest says about every number of the constant blob."""

import re
from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from parkf.parameters.manifest import BlockDescription, NumberDescription, SetDescription
from parkf.steps import Block, Forms

# Errors by block, set and index.
Errors = Mapping[tuple[str, int, int], float | None]

_POWER = re.compile(r"(1e-?\d+|10)(?: |(?=/)|$)")
# Numbers of the table's header that are odd in h; steps know the parity of their own.
_ODD_HEADER = ("bendx", "bendx_x2", "bendx_y2", "bendy_xy")


def describe(forms: Forms, constant: NDArray[np.float32], errors: Errors) -> list[BlockDescription]:
    """Describe every number.

    Parameters
    ----------
    forms : Forms
        Names, units and parities.
    constant : (m,) float32
        Values, in the order of the blocks.
    errors : mapping of (block, set, index) to float or None
        Those that fits determined.
    """
    return [_block(forms, block, constant[forms.block_slice(block.name)], errors) for block in forms.blocks]


def errors_of(layout: list[BlockDescription]) -> dict[tuple[str, int, int], float | None]:
    """Errors of a description, for :func:`describe`."""
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
    """Give the float with the shortest text that reads back as this very float32."""
    return float(str(value))


def _block(forms: Forms, block: Block, values: NDArray[np.float32], errors: Errors) -> BlockDescription:
    rows = values.reshape(block.shape)
    return BlockDescription(
        name=block.name,
        sets=[
            SetDescription(
                label=label,
                numbers=[
                    NumberDescription(
                        name=name,
                        text=text,
                        unit=split_unit(unit)[1],
                        scale=split_unit(unit)[0],
                        value=shortest(rows[i, j]),
                        error=errors.get((block.name, i, j)),
                        parity=_parity(forms, block.name, name, j),
                    )
                    for j, (name, unit, text) in enumerate(block.columns)
                ],
            )
            for i, label in enumerate(block.sets)
        ],
    )


def _parity(forms: Forms, block: str, name: str, index: int) -> Literal[1, -1]:
    odd = forms.steps[block].parameters[index].parity < 0 if block in forms.steps else name in _ODD_HEADER
    return -1 if odd else 1
