"""The constants for states at the RICH planes, which a parameter set has in a file of its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from parkf.io.errors import ParkfError
from parkf.params.binary_form import MANIFEST_FILE, RICH_FILE
from parkf.params.blobs import blob_of, read_blob, refuse_others
from parkf.params.description import Errors, describe_block
from parkf.params.manifest import BlockDescription, Rich, numbers_in
from parkf.params.set_folder import SetFolder

if TYPE_CHECKING:
    from parkf.model.layout import Block


def rich_blocks() -> "dict[str, Block]":
    """Return the blocks of the RICH constants, by name."""
    # Imported here, because the formulas take time to import and only these constants need them.
    from parkf.model.steps import rich

    return rich.rich_blocks()


@dataclass(frozen=True, eq=False)
class RichConstants:
    """Numbers of the extrapolations to the RICH planes."""

    numbers: NDArray[np.float32]  # (n,), of the steps in `parkf.model.steps.rich`, plane by plane
    layout: list[BlockDescription]  # of every number, in their order

    @classmethod
    def of(cls, blocks: Mapping[str, NDArray[np.floating]], errors: Errors) -> Self:
        """Make the constants from blocks (planes, numbers), and from errors by block, plane and index."""
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

    def block_of_forms(self, name: str) -> NDArray[np.float32]:
        """Return a block of the installed forms, (planes, numbers) float32; what the set lacks is zero.

        A form may gain terms, and a set that was trained before has no numbers of these. A set that has other
        numbers raises a ParkfError.
        """
        block = rich_blocks()[name]
        places = [column.text for column in block.columns]
        told = [n.text for one in self.layout if one.name == name for n in one.sets[0].numbers]
        if not told or not {*told} <= {*places}:
            raise ParkfError(
                f"RICH constants: the installed version has other numbers of {name} than this parameter set;"
                " train the set again, or fit without states at the RICH planes"
            )
        values = np.zeros(block.shape, dtype="<f4")
        values[:, [places.index(text) for text in told]] = self.block(name)
        return values

    @property
    def kernel_numbers(self) -> NDArray[np.float32]:
        """The numbers of all blocks of the installed forms, (n,)."""
        return np.concatenate([self.block_of_forms(name).ravel() for name in rich_blocks()])

    def description(self) -> Rich:
        """Return the entry of the manifest."""
        return Rich(blob=blob_of(self.numbers), layout=self.layout)


def read_rich(files: SetFolder, described: Rich | None) -> RichConstants | None:
    """Read a set's RICH constants; None where it has none.

    A file that is not as described, or has a number that is not finite, raises a ParkfError.
    """
    if described is None:
        return None
    numbers = read_blob(files, RICH_FILE, described.blob, len(list(numbers_in(described.layout))))
    refuse_others(files.path / MANIFEST_FILE, described.layout, numbers, RICH_FILE)
    return RichConstants(numbers, described.layout)
