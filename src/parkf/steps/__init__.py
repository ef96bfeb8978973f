"""Step functions and noise models of the Parameterised Kalman Filter; everything else derives from them."""

from parkf.steps.blocks import BLOCKS, CONSTANT_COUNT, STEPS, TABLE_SHAPE, Block, formulas_hash, offsets
from parkf.steps.step import Parameter, Step

__all__ = [
    "BLOCKS",
    "CONSTANT_COUNT",
    "STEPS",
    "TABLE_SHAPE",
    "Block",
    "Parameter",
    "Step",
    "formulas_hash",
    "offsets",
]
