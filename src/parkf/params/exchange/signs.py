"""Sign of h that numbers were written for, determined from the bending of positive charges.

In MagDown By < 0, positive charges bend to +x, and h = pol·q/p with pol = −1; so the leading terms in h are
negative. Numbers that were fitted in MagDown with q/p itself belong to h' = −pol·q/p. To convert them, every
number that is odd in h changes its sign, which is exact in float32.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from parkf.io.errors import ParkfError
from parkf.model.layout import HEADER, Layout, layouts_of
from parkf.params.manifest import Manifest

F32 = NDArray[np.float32]

# The layout that the trigger reads, also when production's forms change here.
TRIGGER = layouts_of("production")[1]
# Index of the number in each block that bends tx the most, in that layout.
LEADING = {"VUT": 5, "UT": 4, "TFT": 1, "T": 4}
_BENDS = slice(HEADER.index("bendx"), HEADER.index("bendy_xy") + 1)
_ODD = np.array([power % 2 == 1 for piece in TRIGGER.pieces for power in range(1, piece.degree + 1)])
# Index of the coefficient that multiplies f in the change of tx, in the middle of a bin.
_LEADING_TABLE = TRIGGER.pieces[0].degree


def check_layout(what: str, manifest: Manifest, hints: tuple[str, str] = ("", "")) -> None:
    """Refuse a set of other forms or another layout than the trigger's, with a hint for each."""
    forms, version = manifest.forms, manifest.layout_version
    if forms != TRIGGER.name:
        raise ParkfError(f"{what}: forms '{forms}', expected '{TRIGGER.name}'{hints[0]}")
    if version != TRIGGER.layout_version:
        raise ParkfError(f"{what}: layout {version}, expected {TRIGGER.layout_version}{hints[1]}")


def convert_blocks(where: str, layout: Layout, blocks: Mapping[str, F32]) -> dict[str, F32]:
    """Convert the blocks of all steps, (sets, columns) float32 by name, to our sign of h.

    Blocks that belong to no step do not change. Blocks, or sets of a block, that bend in different directions
    raise a ParkfError, whose message begins with `where`.
    """
    leading = {
        f"block {name} set {row} index {index}": float(value)
        for name, index in LEADING.items()
        for row, value in enumerate(blocks[name][:, index])
    }
    up = [number for number, value in leading.items() if value > 0]
    down = [number for number, value in leading.items() if value <= 0]
    if up and down:
        few, many = sorted((up, down), key=len)
        raise ParkfError(
            f"{where}: {few[0]}: {leading[few[0]]:g} bends against {many[0]}: {leading[many[0]]:g}; "
            "expected one sign of h in all blocks"
        )
    if down:
        return dict(blocks)
    signs = {
        name: np.array([column.parity for column in layout.block(name).columns], dtype=np.float32)
        for name in layout.steps
    }
    return {name: values * signs[name] if name in signs else values for name, values in blocks.items()}


def convert_table(where: str, header: F32, table: F32) -> tuple[F32, F32]:
    """Convert header (19,) and table (60, 50, 80) to our sign of h; mixed signs raise a ParkfError."""
    fraction = float((table[..., _LEADING_TABLE] > 0).mean())
    if 0.1 < fraction < 0.9:
        got = f"{100 * fraction:.0f} %"
        raise ParkfError(f"{where}: tx00[1] is positive in {got} of the bins, expected one sign of h in all")
    return (header, table) if fraction <= 0.1 else flipped_table(header, table)


def flipped_table(header: F32, table: F32) -> tuple[F32, F32]:
    """Return the same table for −h: the header's bends and the odd powers of f change sign."""
    header, table = header.copy(), table.copy()
    header[_BENDS] *= -1
    table[..., _ODD] *= -1
    return header, table
