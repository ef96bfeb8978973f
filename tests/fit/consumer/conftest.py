import shutil
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from parkf.fit.consumer import cpp_header
from parkf.params.parameter_set import ParameterSet

from ... import sets

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
    return sets.toy_set(toy, velo_loss=0.4)


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
    return sets.random_set(field="abc")
