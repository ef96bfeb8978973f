import pytest


@pytest.fixture
def parameters(dipole):
    """A set that importers accept as a detector's."""
    return dipole
