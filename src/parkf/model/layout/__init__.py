"""Layout of a parameter set's numbers: blocks, columns and the magnet table, without any formula.

The formulas in :mod:`parkf.model.steps` determine it, and the build of the kernel writes it to a file
(:mod:`parkf.model.codegen`), so that reading a set does not need the formulas, which take longer to build.
"""

from parkf.model.layout.blocks import BINS, HEADER, TABLE_SHAPE, Block, Column, Layout, Piece
from parkf.model.layout.built import layout_of, layouts_of

__all__ = ["BINS", "HEADER", "TABLE_SHAPE", "Block", "Column", "Layout", "Piece", "layout_of", "layouts_of"]
