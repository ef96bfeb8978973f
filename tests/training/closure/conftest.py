"""A published set of production's forms, and tracks to close it with."""

import sys
from pathlib import Path

import pytest

from parkf.params import load
from parkf.training.closure.sample import simulate_sample
from parkf.training.magnet_table import MagnetTable

ROOT = Path(__file__).parents[3]
# The toys are a module beside the tests that use them.
sys.path.insert(0, str(Path(__file__).parent))
from closure_toys import SEED, STARTED  # noqa: E402


@pytest.fixture(scope="session")
def trained():
    return load(ROOT / "params/2026-run3-like-2-r003")


@pytest.fixture(scope="session")
def table(trained):
    return MagnetTable(trained.block("UTT_META")[0], trained.table)


@pytest.fixture(scope="session")
def samples(tmp_path_factory, geometry, field):
    """Files of both polarities."""
    folder = tmp_path_factory.mktemp("closure")
    paths = []
    for number, polarity in enumerate((+1, -1)):
        paths.append(folder / f"{number}.parquet")
        detector = {"geometry": geometry, "field": field, "polarity": polarity}
        simulate_sample(paths[-1], tracks=STARTED, seed=SEED + number, **detector, threads=2)
    return paths
