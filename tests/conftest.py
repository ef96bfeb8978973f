"""Fixtures for all tests: the embedded detector and field, and programs under a sanitizer."""

import gc
import os
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

# Processes of the tests share the cores, and threads of linear algebra that wait for a core keep it busy. As
# parkf's own commands do, this precedes NumPy.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

from parkf.detector.field import DipoleSources, FieldMap, evaluate_on_grid
from parkf.detector.geometry import Geometry, load_geometry
from parkf.params.slices import MagnetSlices

from .guard import start_guard
from .shared import Shared

ROOT = Path(__file__).parents[1]
FEW_TRACKS = 8000
# Modules and tests are a million objects that stay: the search for garbage leaves them out, here and below.
gc.disable()


def pytest_configure(config: pytest.Config) -> None:
    """Let what the tests start end with them, also where somebody interrupts or kills them."""
    guard = start_guard()
    config.add_cleanup(guard.communicate)


def pytest_collection_finish() -> None:
    gc.freeze()
    # Tests leave little garbage, and Python would look for it, in vain, for a tenth of their time.
    gc.set_threshold(20_000)
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order files so that no process of the tests waits for another, and the last files are short.

    The longest files make the finished run and the finished family, which other files wait for. Meanwhile
    files run that do not need them, those that compile first. A machine has one Slurm: of the files with it,
    the one with most tests begins at once, and the others when it has ended.
    """
    on_slurm = Counter(item.path for item in items if item.get_closest_marker("slurm"))
    waiting = {"finished", "family"}
    finished = {item.path for item in items if waiting.intersection(getattr(item, "fixturenames", ()))}
    makers = (ROOT / f"tests/runs/test_{name}.py" for name in ("family", "repair"))
    first = [*makers, *(path for path, _ in on_slurm.most_common(1))]

    def turn(path: Path) -> int:
        if path in first:
            return 0
        if ROOT / "tests/fit" in path.parents:
            return 1
        return 3 if path in on_slurm else 2 if path in finished else 4

    # Of the other files, the long ones are those of the workflow, and come last in the alphabet.
    paths = sorted({item.path for item in items}, reverse=True)
    place = {path: place for place, path in enumerate(sorted(paths, key=turn))}
    items.sort(key=lambda item: place[item.path])


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
def shared(tmp_path_factory, worker_id) -> Shared:
    """What all processes of the tests share."""
    base = tmp_path_factory.getbasetemp()
    return Shared(base if worker_id == "master" else base.parent)


@pytest.fixture(scope="session")
def field(shared: Shared, sources: DipoleSources) -> FieldMap:
    return shared.value("field", lambda: evaluate_on_grid(sources))


@pytest.fixture(scope="session")
def slices(shared: Shared, field: FieldMap, geometry: Geometry) -> MagnetSlices:
    """Steps inside the magnet, trained on few tracks, with seed 3."""
    from parkf.training.slices import train_slices

    return shared.value("slices", lambda: train_slices(field, geometry, seed=3, tracks=FEW_TRACKS, threads=2))
