"""The constants for states at the RICH planes: a part of a parameter set, in a file of its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from parkf.io.errors import ParkfError
from parkf.params.blobs import blob_of, read_blob, write_blob
from parkf.params.description import Errors, describe_block
from parkf.params.manifest import BlockDescription, Rich

if TYPE_CHECKING:
    from parkf.model.layout import Block

RICH_FILE = "rich.f32"


def rich_blocks() -> "dict[str, Block]":
    """Return the blocks of the RICH constants, by name."""
    # These formulas are needed by nothing else that reads or writes a set, and take time to import.
    from parkf.model.steps import rich

    return rich.rich_blocks()


@dataclass(frozen=True, eq=False)
class RichConstants:
    """Numbers of the extrapolations to the RICH planes.

    Attributes
    ----------
    numbers : (n,) float32
        Of the steps in :mod:`parkf.model.steps.rich`, plane by plane.
    layout : list of BlockDescription
        Every number, in their order.
    """

    numbers: NDArray[np.float32]
    layout: list[BlockDescription]

    @classmethod
    def of(cls, blocks: Mapping[str, NDArray[np.floating]], errors: Errors) -> Self:
        """Make them of blocks (planes, numbers) and of errors by block, plane and index.

        Raises
        ------
        ParkfError
            When a block has another shape.
        """
        layout, numbers = [], []
        for name, block in rich_blocks().items():
            values = np.asarray(blocks[name], dtype="<f4")
            if values.shape != block.shape:
                raise ParkfError(f"{name}: {values.shape} numbers, expected {block.shape}")
            layout.append(describe_block(block, values, errors))
            numbers.append(values.ravel())
        return cls(np.concatenate(numbers), layout)

    def block(self, name: str) -> NDArray[np.float32]:
        """Return a block, (planes, numbers) float32; KeyError when there is none."""
        begin = 0
        for block in self.layout:
            shape = len(block.sets), len(block.sets[0].numbers)
            end = begin + shape[0] * shape[1]
            if block.name == name:
                return self.numbers[begin:end].reshape(shape)
            begin = end
        raise KeyError(name)

    def description(self) -> Rich:
        """Return the entry of the manifest."""
        return Rich(blob=blob_of(self.numbers), layout=self.layout)


def write_rich(folder: Path, rich: RichConstants | None) -> None:
    """Write a set's file of the RICH constants; without any, remove one from before."""
    if rich is None:
        (folder / RICH_FILE).unlink(missing_ok=True)
    else:
        write_blob(folder / RICH_FILE, rich.numbers)


def read_rich(folder: Path, described: Rich | None) -> RichConstants | None:
    """Read a set's RICH constants; None where it has none.

    Raises
    ------
    ParkfError
        When the file is missing, truncated, does not match its checksum, has a number that is not finite, or
        has other numbers than the manifest describes.
    """
    if described is None:
        return None
    path = folder / RICH_FILE
    told = [number.value for block in described.layout for one in block.sets for number in one.numbers]
    numbers = read_blob(path, described.blob, len(told))
    for position in np.flatnonzero(~np.isfinite(numbers))[:1]:
        raise ParkfError(f"{path}: index {position}: got {numbers[position]}, expected a number")
    with np.errstate(over="ignore"):
        others = np.flatnonzero(np.array(told).astype(np.float32) != numbers)
    for position in others[:1]:
        raise ParkfError(
            f"{path}: index {position}: got {numbers[position]:.9g}, expected {told[position]:.9g} of the"
            " manifest"
        )
    return RichConstants(numbers, described.layout)
