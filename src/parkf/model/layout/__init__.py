"""Layout of a parameter set's numbers: blocks, columns and the magnet table, without any formula.

The formulas in :mod:`parkf.model.steps` decide it, and the build of the kernel writes it down
(:mod:`parkf.model.codegen`): who only reads a set need not build the formulas first, which takes longer.
"""

from parkf.model.layout.blocks import Block, Column, Layout
from parkf.model.layout.built import layout_of, layouts_of
from parkf.model.layout.magnet import BINS, HEADER, TABLE_SHAPE, Piece

__all__ = ["BINS", "HEADER", "TABLE_SHAPE", "Block", "Column", "Layout", "Piece", "layout_of", "layouts_of"]
