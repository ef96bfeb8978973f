"""Fixtures for all tests: the embedded detector and field, and programs under a sanitizer."""

import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from parkf.detector.field import DipoleSources, FieldMap, evaluate_on_grid
from parkf.detector.geometry import Geometry, load_geometry

from .edits import Copy

ROOT = Path(__file__).parents[1]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with whole runs, the longest tests, so that the last tests to begin are short.

    A machine has one Slurm, so that files of tests with it wait for each other. The one with most tests
    begins early, and the others come last.
    """
    on_slurm = Counter(item.path for item in items if item.get_closest_marker("slurm"))
    early = [path for path, _ in on_slurm.most_common(1)]

    def turn(item: pytest.Item) -> int:
        if item.path in on_slurm and item.path not in early:
            return 2
        return 0 if ROOT / "tests/runs" in item.path.parents else 1

    items.sort(key=turn)


@pytest.fixture
def run_sanitized() -> Callable[[Path], str]:
    """Run a program that was built with a sanitizer, in its folder; return its output."""

    def run(program: Path) -> str:
        options = {"TSAN_OPTIONS": "halt_on_error=1"}
        ran = subprocess.run(
            [program],
            cwd=program.parent,
            env=options,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        if "unexpected memory mapping" in ran.stderr:
            pytest.skip("this compiler's thread sanitizer does not know this kernel's address space")
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    return run


@pytest.fixture(scope="session")
def geometry() -> Geometry:
    return load_geometry(ROOT / "data/geometry/run3.yaml")


@pytest.fixture(scope="session")
def sources() -> DipoleSources:
    return DipoleSources.load(ROOT / "data/field/dipole.json")


@pytest.fixture(scope="session")
def field(sources: DipoleSources) -> FieldMap:
    return evaluate_on_grid(sources)


@pytest.fixture(scope="session")
def source_copy(tmp_path_factory) -> Copy:
    """A copy of the package's sources that tests may change."""
    return Copy(tmp_path_factory.mktemp("sources"))
