import pytest

from parkf.params.parameter_set import ParameterSet

from ...sets import random_set


@pytest.fixture(scope="session")
def parameters() -> ParameterSet:
    return random_set()
