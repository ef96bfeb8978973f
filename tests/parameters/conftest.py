import numpy as np
import pytest

from parkf import __version__
from parkf.parameters.manifest import FORMAT_VERSION, Blob, Blobs, Constants, Manifest
from parkf.parameters.parameter_set import ParameterSet, with_blobs
from parkf.steps import FORMS, TABLE_SHAPE

PRODUCTION = FORMS["production"]


@pytest.fixture
def manifest() -> Manifest:
    empty = Blob(numbers=0, sha256="0" * 64)
    return Manifest(
        format_version=FORMAT_VERSION,
        forms="production",
        layout_version=1,
        code_version=__version__,
        formulas=PRODUCTION.hash(),
        blobs=Blobs(constant=empty, table=empty),
        constants=Constants(velo_sigma=0.0125, beam_x=0.0, beam_y=0.0),
        inputs={"field": "abc"},
        seeds={"run": 1},
        steps={name: step.formula_hash() for name, step in PRODUCTION.steps.items()},
        fits=[],
        supersedes=None,
        created=None,
    )


@pytest.fixture
def parameters(manifest: Manifest) -> ParameterSet:
    random = np.random.default_rng(7)
    constant = random.normal(size=466).astype(np.float32)
    return with_blobs(manifest, constant, random.normal(size=TABLE_SHAPE).astype(np.float32))
