import shutil
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from parkf.fit.consumer import cpp_header
from parkf.model.layout import TABLE_SHAPE
from parkf.model.steps import FORMS
from parkf.params.imported import imported
from parkf.params.manifest import Constants
from parkf.params.parameter_set import ParameterSet

TESTS = Path(__file__).parents[2]
# The modules for bad sets and toy tracks lie beside the tests of Python's reader and fit.
sys.path[:0] = [str(TESTS / "params"), str(TESTS / "fit"), str(TESTS / "fit/consumer")]


@pytest.fixture(scope="session")
def toy():
    from kalman_toy import generate

    return generate(1001, 6000.0, seed=4, efficiency=0.95)


@pytest.fixture(scope="session")
def toy_set(toy) -> ParameterSet:
    """The toy's parameters as a set that can be saved."""
    layout = FORMS[toy.parameters.manifest.forms].layout
    constant = toy.parameters.constant
    blocks = {b.name: constant[layout.block_slice(b.name)].reshape(b.shape) for b in layout.blocks}
    constants = Constants(velo_sigma=0.0125, beam_x=0.02, beam_y=-0.03, velo_loss=0.4)
    return imported(layout, blocks, toy.parameters.table, constants, inputs={}, source="toy")


@pytest.fixture(scope="session")
def header(tmp_path_factory) -> Path:
    """Folder with parkf.hpp; without a compiler, tests that compile are skipped."""
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    folder = tmp_path_factory.mktemp("header")
    (folder / "parkf.hpp").write_text(cpp_header())
    return folder


@pytest.fixture(scope="session")
def built_example(header, tmp_path_factory) -> Callable[[str], Path]:
    """Return the C++ example for a build of the kernel. Tests share it, because it compiles slowly."""
    import example

    return cache(lambda build: example.build(tmp_path_factory.mktemp("example"), header, build))


@pytest.fixture(scope="session")
def parameters() -> ParameterSet:
    """A complete set of random numbers that describe no detector."""
    random = np.random.default_rng(7)
    forms = FORMS["production"]
    blocks = {b.name: random.normal(size=b.shape).astype(np.float32) for b in forms.layout.blocks}
    table = random.normal(size=TABLE_SHAPE).astype(np.float32)
    constants = Constants(velo_sigma=0.0125, beam_x=0.0, beam_y=0.0)
    return imported(forms.layout, blocks, table, constants, inputs={"field": "abc"}, source="test")
