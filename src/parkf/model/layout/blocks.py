"""The constant blob as blocks of sets by columns, and where each lies; the magnet table's numbers."""

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from parkf.io.option_types import FormsName

# Numbers of the header of the table for the hop through the magnet.
HEADER_TEXT = {
    "z_in": "z where the hop begins, mm",
    "z_out": "z where it ends, mm",
    "p_min": "momentum at which f = 1, MeV",
    "bendx": "mean kick in x, MeV",
    "bendx_x2": "its change with X², MeV",
    "bendx_y2": "its change with Y², MeV",
    "bendy_xy": "kick in y with XY, MeV",
    "tx_max": "edge of the bins in x/z_in",
    "ty_max": "edge of the bins in y/z_in",
    "xf_max": "edge of the tracks trained on at z_out, mm",
    "dtxy": "slope that makes u = 1",
    "nbin_x": "bins in x",
    "nbin_y": "bins in y",
    "x_grid": "kind of grid in x (1: uniform)",
    "y_grid": "kind of grid in y (1: uniform)",
    "deg_x1": "degree of the u terms of x and tx",
    "deg_x2": "degree of the central term of x and tx",
    "deg_y1": "degree of the u terms of y and ty",
    "deg_y2": "degree of the central term of y and ty",
}
HEADER = tuple(HEADER_TEXT)
BINS = (60, 50)
TABLE_SHAPE = (*BINS, 80)
# Numbers of the header that are odd in h; the numbers of steps have their own parity.
ODD_HEADER = ("bendx", "bendx_x2", "bendx_y2", "bendy_xy")


class Column(NamedTuple):
    """A number that every set of a block has; `parity` is its sign under h → −h, h = polarity · q/p."""

    name: str
    unit: str
    text: str
    parity: int


class Piece(NamedTuple):
    """Coefficients of f, f², …, f^degree in a bin, for `component`, with a `factor` 1, u_x or u_y."""

    component: str
    factor: str
    degree: int


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

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return len(self.sets) * len(self.columns)


@dataclass(frozen=True)
class Layout:
    """Meaning and order of the numbers of a parameter set, for a set of forms."""

    name: FormsName
    layout_version: int  # increases with every change of the meaning or position of a number in the blobs
    formulas: str  # fingerprint of all formulas
    steps: dict[str, str]  # fingerprint of each step's formulas, in the order of the steps
    blocks: tuple[Block, ...]  # of the constant blob, in their order
    pieces: tuple[Piece, ...]  # of a bin of the magnet table, in their order
    signature: dict[str, int]  # numbers of the table's header that identify the form, by their names

    @cached_property
    def offsets(self) -> dict[str, int]:
        """Position of every block's first number in the constant blob."""
        starts = accumulate((block.size for block in self.blocks), initial=0)
        return {block.name: start for block, start in zip(self.blocks, starts, strict=False)}

    @property
    def constant_count(self) -> int:
        """How many numbers the constant blob has."""
        return sum(block.size for block in self.blocks)

    def block(self, name: str) -> Block:
        """Return the block of this name; KeyError when there is none."""
        return {block.name: block for block in self.blocks}[name]

    def block_slice(self, name: str) -> slice:
        """Positions of a block in the constant blob."""
        size, start = self.block(name).size, self.offsets[name]
        return slice(start, start + size)
