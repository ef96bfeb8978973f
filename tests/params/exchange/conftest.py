import pytest


@pytest.fixture
def parameters(dipole):
    """A set that an importer takes for a detector's."""
    return dipole
