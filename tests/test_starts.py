"""The modules that a command or a stage loads before its work begins; a run starts dozens of stages."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SLOW = {"sympy", "scipy", "iminuit", "pandas", "matplotlib", "rich"}
SET = ROOT / "params/2026-run3-like-2-r003"
DETECTOR = (
    *("--geometry", ROOT / "data/geometry/run3.yaml"),
    *("--alignment", ROOT / "data/geometry/alignment_nominal.yaml"),
    *("--field", "missing.npz"),
)
# Lines whose input is missing: a command then has loaded what its work needs. Formulas, minimiser and
# statistics are loaded only there.
COMMANDS = {
    "candidates": (("missing", "x.parquet", *DETECTOR, "--polarity", "1"), set()),
    "check-dataset": (("V", "missing.parquet"), {"pandas"}),
    "fit": ((SET, "missing.parquet", "x.parquet"), set()),
    "fit-full": (("missing.parquet", "x.parquet", *DETECTOR), set()),
    "gate": (("missing",), set()),
    "params show": (("missing",), set()),
    "params validate": ((SET,), set()),
    "params export": (("missing", "x"), set()),
    "params reproduce": (("missing",), set()),
    "compare": (("missing", "missing"), set()),
}
LIGHT = "field generate simulate candidates thresholds rows datasets gather fit fit_full"
STAGES = {name: set() for name in LIGHT.split()}
STAGES |= {"train": {"sympy", "iminuit"}, "assemble": {"sympy", "iminuit", "scipy"}}
# Each line runs in a fork of a process that has loaded the program, and modules that most of them load.
LOADED = """
import json, os, sys
from importlib import import_module
from parkf.cli.main import main
import numpy, pyarrow.parquet, pydantic, parkf._fitter, parkf.io.tables
for line in json.loads(sys.argv[1]):
    if not (child := os.fork()):
        break
    os.waitpid(child, 0)
else:
    sys.exit()
told, sys.stdout, sys.argv[1:] = sys.stdout, sys.stderr, line
try:
    import_module(line[0]) if line[0].startswith("parkf.stages.") else main()
except SystemExit:
    pass
print(json.dumps(sorted(sys.modules)), file=told)
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    lines = {name: [*name.split(), *map(str, words)] for name, (words, _) in COMMANDS.items()}
    lines |= {f"parkf.stages.{name}": [f"parkf.stages.{name}"] for name in STAGES}
    done = subprocess.run(
        [sys.executable, "-c", LOADED, json.dumps(list(lines.values()))],
        cwd=tmp_path_factory.mktemp("starts"),
        check=True,
        capture_output=True,
        text=True,
    )
    modules = (set(json.loads(told)) for told in done.stdout.splitlines())
    return dict(zip(lines, modules, strict=True))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_loads_only_what_it_works_with(loaded, command):
    assert loaded[command] & SLOW <= COMMANDS[command][1]


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_loads_only_what_it_works_with(loaded, stage):
    assert loaded[f"parkf.stages.{stage}"] & SLOW <= STAGES[stage]


def test_the_statistics_of_scipy_are_left_to_the_table(loaded):
    assert not [name for name, modules in loaded.items() if "scipy.stats" in modules]
