import sys
from pathlib import Path

import numpy as np
import pytest

from parkf.model.layout import HEADER, TABLE_SHAPE
from parkf.model.steps import FORMS
from parkf.params.imported import imported
from parkf.params.manifest import Constants, Manifest
from parkf.params.parameter_set import ParameterSet
from parkf.params.publisher import Publisher

from ..sets import random_set

PRODUCTION = FORMS["production"]
META = [2665, 7826, 1500, -29.5, -35, 310, -140, 0.3, 0.25, 2500, 0.005, 60, 50, 1, 1, 7, 9, 5, 7]
# The collection of bad sets and the toy tracks are modules beside the tests that use them.
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "fit")]


@pytest.fixture
def parameters() -> ParameterSet:
    return random_set(field="abc")


@pytest.fixture
def better() -> ParameterSet:
    """Make a whole set of random numbers for the improved forms."""
    return random_set("improved", field="abc")


@pytest.fixture
def manifest(parameters: ParameterSet) -> Manifest:
    return parameters.manifest


@pytest.fixture
def made(parameters, tmp_path):
    """Make folders of sets that differ in the beam line, and in what is given of their manifests."""

    def make(number, **about):
        constants = parameters.manifest.constants.model_copy(update={"beam_x": float(number)})
        about = {"constants": constants, "detector": "run3", **about}
        manifest = parameters.manifest.model_copy(update=about)
        ParameterSet(parameters.constant, parameters.table, manifest).save(tmp_path / f"set{number}")
        return tmp_path / f"set{number}"

    return make


@pytest.fixture
def sets(tmp_path) -> Publisher:
    """Return an empty registry."""
    return Publisher(tmp_path / "params")


@pytest.fixture(scope="session")
def dipole() -> ParameterSet:
    """A set of production's forms that bends as a dipole does; its numbers all differ."""
    random = np.random.default_rng(3)
    blocks = {}
    for block in PRODUCTION.layout.blocks:
        if block.name in PRODUCTION.steps:
            start = np.array([p.start for p in PRODUCTION.steps[block.name].parameters])
            blocks[block.name] = (start + random.normal(0, 0.01, block.shape)).astype(np.float32)
        else:
            blocks[block.name] = random.normal(5, 1, block.shape).astype(np.float32)
    blocks["UTT_META"] = np.array([META], dtype=np.float32)
    assert len(META) == len(HEADER)
    table = random.normal(0, 1e-3, TABLE_SHAPE).astype(np.float32)
    table[..., 0] = random.normal(-2000, 10, TABLE_SHAPE[:2])
    table[..., PRODUCTION.table.pieces[0].degree] = random.normal(-0.8, 0.01, TABLE_SHAPE[:2])
    constants = Constants(velo_sigma=0.0125, beam_x=0.02, beam_y=-0.03)
    return imported(PRODUCTION.layout, blocks, table, constants, inputs={}, source="test")
