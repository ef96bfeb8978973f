import sys
from pathlib import Path

import numpy as np
import pytest

from parkf.parameters.imported import imported
from parkf.parameters.manifest import Constants, Manifest
from parkf.parameters.parameter_set import ParameterSet
from parkf.steps import FORMS, TABLE_SHAPE

PRODUCTION = FORMS["production"]
# The collection of bad sets and the toy tracks are modules beside the tests that use them.
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "kalman")]


@pytest.fixture
def parameters() -> ParameterSet:
    """A set of random numbers: whole, but of no detector."""
    random = np.random.default_rng(7)
    blocks = {b.name: random.normal(size=b.shape).astype(np.float32) for b in PRODUCTION.blocks}
    table = random.normal(size=TABLE_SHAPE).astype(np.float32)
    constants = Constants(velo_sigma=0.0125, beam_x=0.0, beam_y=0.0)
    return imported(PRODUCTION, blocks, table, constants, inputs={"field": "abc"}, source="test")


@pytest.fixture
def manifest(parameters: ParameterSet) -> Manifest:
    return parameters.manifest
