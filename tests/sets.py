"""Parameter sets for tests: of random numbers, which describe no detector, and of a toy's numbers."""

import numpy as np

from parkf.model.layout import TABLE_SHAPE, layout_of
from parkf.params.imported import imported
from parkf.params.manifest import Constants
from parkf.params.parameter_set import ParameterSet


def random_set(forms: str = "production", seed: int = 7, **inputs: str) -> ParameterSet:
    """Make a whole set; `inputs` are fingerprints for its manifest."""
    layout, random = layout_of(forms), np.random.default_rng(seed)
    blocks = {b.name: random.normal(size=b.shape).astype(np.float32) for b in layout.blocks}
    table = random.normal(size=TABLE_SHAPE).astype(np.float32)
    constants = Constants(velo_sigma=0.0125, beam_x=0.0, beam_y=0.0)
    return imported(layout, blocks, table, constants, inputs=inputs, source="test")


def toy_set(toy, **constants: float) -> ParameterSet:
    """Make the set that a toy was generated with, so that it can be saved."""
    layout, numbers = layout_of(toy.parameters.manifest.forms), toy.parameters.constant
    blocks = {b.name: numbers[layout.block_slice(b.name)].reshape(b.shape) for b in layout.blocks}
    known = Constants(velo_sigma=0.0125, beam_x=0.02, beam_y=-0.03, **constants)
    return imported(layout, blocks, toy.parameters.table, known, inputs={}, source="toy")
