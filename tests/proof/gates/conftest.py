import numpy as np
import pytest

from parkf.model.layout import TABLE_SHAPE
from parkf.model.steps import FORMS
from parkf.params.imported import imported
from parkf.params.manifest import Constants
from parkf.params.parameter_set import ParameterSet


@pytest.fixture(scope="session")
def parameters() -> ParameterSet:
    """A whole set of random numbers, which describes no real detector."""
    random = np.random.default_rng(7)
    layout = FORMS["production"].layout
    blocks = {b.name: random.normal(size=b.shape).astype(np.float32) for b in layout.blocks}
    constants = Constants(velo_sigma=0.0125, beam_x=0.0, beam_y=0.0)
    return imported(layout, blocks, np.ones(TABLE_SHAPE, np.float32), constants, inputs={}, source="test")
