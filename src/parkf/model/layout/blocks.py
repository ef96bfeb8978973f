"""The constant blob as blocks of sets by columns, and where each lies."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from parkf.io.option_types import FormsName
from parkf.model.layout.magnet import Piece


class Column(NamedTuple):
    """A number that every set of a block has; `parity` is its sign under h → −h, h = polarity · q/p."""

    name: str
    unit: str
    text: str
    parity: int


@dataclass(frozen=True)
class Block:
    """A rectangle of the constant blob: `sets` rows of `columns`."""

    name: str
    sets: tuple[str, ...]
    columns: tuple[Column, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.sets), len(self.columns)


@dataclass(frozen=True)
class Layout:
    """What the numbers of a parameter set are, by set of forms.

    Attributes
    ----------
    name : {'improved', 'production'}
        Set of forms.
    layout_version : int
        Increases with every change of the meaning or position of a number in the blobs.
    formulas : str
        Fingerprint of all formulas.
    steps : dict of str to str
        Fingerprint of each step's formulas, in the order of the steps.
    blocks : tuple of Block
        Blocks of the constant blob, in their order.
    pieces : tuple of Piece
        Pieces of a bin of the magnet table, in their order.
    signature : dict of str to int
        Numbers of the table's header that identify the form, by their names in
        :data:`parkf.model.layout.HEADER`.
    """

    name: FormsName
    layout_version: int
    formulas: str
    steps: dict[str, str]
    blocks: tuple[Block, ...]
    pieces: tuple[Piece, ...]
    signature: dict[str, int]

    @cached_property
    def offsets(self) -> dict[str, int]:
        """Position of every block's first number in the constant blob."""
        result, position = {}, 0
        for block in self.blocks:
            result[block.name] = position
            position += block.shape[0] * block.shape[1]
        return result

    @property
    def constant_count(self) -> int:
        """Number of numbers in the constant blob."""
        return sum(block.shape[0] * block.shape[1] for block in self.blocks)

    def block(self, name: str) -> Block:
        """Return the block of this name; KeyError when there is none."""
        return {block.name: block for block in self.blocks}[name]

    def block_slice(self, name: str) -> slice:
        """Positions of a block in the constant blob."""
        rows, columns = self.block(name).shape
        start = self.offsets[name]
        return slice(start, start + rows * columns)
