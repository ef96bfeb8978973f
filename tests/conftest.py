"""The embedded detector and field."""

from pathlib import Path

import pytest

from parkf.detector.field import DipoleSources, FieldMap, evaluate_on_grid
from parkf.detector.geometry import Geometry, load_geometry

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def geometry() -> Geometry:
    return load_geometry(ROOT / "data/geometry/run3.yaml")


@pytest.fixture(scope="session")
def sources() -> DipoleSources:
    return DipoleSources.load(ROOT / "data/field/dipole.json")


@pytest.fixture(scope="session")
def field(sources: DipoleSources) -> FieldMap:
    return evaluate_on_grid(sources)
