"""Layout of a parameter set's numbers: blocks, columns and the magnet table, without any formula.

The formulas in :mod:`parkf.model.steps` determine it. Formulas take long to build, so the build of the kernel
writes the layout to a file (:mod:`parkf.model.codegen`), which is enough to read a set.
"""

from parkf.model.layout.blocks import BINS, HEADER, TABLE_SHAPE, Block, Layout, Piece
from parkf.model.layout.built import layout_of, layouts_of

__all__ = ["BINS", "HEADER", "TABLE_SHAPE", "Block", "Layout", "Piece", "layout_of", "layouts_of"]
