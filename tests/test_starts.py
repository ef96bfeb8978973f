"""The modules that a command loads before it begins; a run starts hundreds of commands."""

import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.starts import command_lines, loaded_modules

from parkf.detector.field import FieldMap

ROOT = Path(__file__).parents[1]
SLOW = {"sympy", "scipy", "iminuit", "pandas", "matplotlib", "rich"}
# Formulas, minimiser and statistics are loaded only where the work needs them.
NEEDED = {
    "generate": set(),
    "simulate": set(),
    "misalign": set(),
    "candidates": set(),
    "draw": set(),
    "thresholds": set(),
    "datasets": set(),
    "gather-dataset": set(),
    "gather": set(),
    "check-dataset": {"pandas"},
    "fit": set(),
    "fit-full": set(),
    "throughput": set(),
    "gate": set(),
    "where": set(),
    "explain": set(),
    "params show": set(),
    "params validate": set(),
    "params export": set(),
    "params reproduce": set(),
    "train": {"sympy", "iminuit"},
    "assemble": {"sympy", "iminuit"},
    "accuracy": {"sympy", "iminuit"},
    "report": {"sympy", "iminuit", "matplotlib"},
    "validate": set(),
    "compare": set(),
}


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("starts")
    FieldMap(np.zeros(3), np.ones(3), np.zeros((2, 2, 2, 3), np.float32)).save(folder / "field.npz")
    lines = command_lines(Path(sys.executable), ROOT, folder / "field.npz")
    modules = loaded_modules([lines[name] for name in NEEDED], folder)
    return dict(zip(NEEDED, modules, strict=True))


@pytest.mark.parametrize("command", NEEDED)
def test_a_command_loads_only_what_it_works_with(loaded, command):
    assert "parkf.cli.main" in loaded[command]
    assert loaded[command] & SLOW <= NEEDED[command]


def test_the_statistics_of_scipy_are_left_to_the_table(loaded):
    assert not [name for name, modules in loaded.items() if "scipy.stats" in modules]
