"""The environment names what results depend on beside the code."""

import pytest

from parkf.io.process_settings import environment


def test_the_environment_has_what_numbers_depend_on():
    assert {"python", "machine", "linear algebra", "numpy"} <= environment().keys()


@pytest.mark.parametrize("kernels", ["Haswell", "Zen"])
def test_the_environment_is_that_of_the_moment(monkeypatch, kernels):
    """A process reads it before its settings are made, and after."""
    monkeypatch.setenv("OPENBLAS_CORETYPE", kernels)
    assert environment()["linear algebra"] == kernels
