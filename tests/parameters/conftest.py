import numpy as np
import pytest

from parkf import __version__
from parkf.parameters.layout import LAYOUT_VERSION
from parkf.parameters.manifest import FORMAT_VERSION, Blob, Blobs, Constants, Manifest
from parkf.parameters.parameter_set import ParameterSet, with_blobs
from parkf.steps import CONSTANT_COUNT, STEPS, TABLE_SHAPE, formulas_hash


@pytest.fixture
def manifest() -> Manifest:
    empty = Blob(numbers=0, sha256="0" * 64)
    return Manifest(
        format_version=FORMAT_VERSION,
        layout_version=LAYOUT_VERSION,
        code_version=__version__,
        formulas=formulas_hash(),
        blobs=Blobs(constant=empty, table=empty),
        constants=Constants(velo_sigma=0.0125, beam_x=0.0, beam_y=0.0),
        inputs={"field": "abc"},
        seeds={"run": 1},
        forms={name: step.formula_hash() for name, step in STEPS.items()},
        fits=[],
        supersedes=None,
        created=None,
    )


@pytest.fixture
def parameters(manifest: Manifest) -> ParameterSet:
    random = np.random.default_rng(7)
    constant = random.normal(size=CONSTANT_COUNT).astype(np.float32)
    return with_blobs(manifest, constant, random.normal(size=TABLE_SHAPE).astype(np.float32))
