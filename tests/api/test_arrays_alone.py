"""A fit of arrays in memory needs NumPy and no package of the extras; what needs one says which."""

import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from packaging.requirements import Requirement

import parkf
from parkf.io.arrow import numbers
from parkf.io.checksums import is_sealed
from parkf.io.extras import how_to_install
from parkf.io.tables import MEASURED

ROOT = Path(__file__).parents[2]
SET, ARRAYS = ROOT / "params/2026-run3-like-2-r018", ROOT / "examples/candidates.npz"
TRAIN = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["train"]


def _without_extras(program, *words):
    """Run Python where the packages of `train` are as good as not installed."""
    names = [Requirement(one).name for one in TRAIN]
    lines = ("import sys", f"sys.modules.update(dict.fromkeys({names!r}))", program)
    command = [sys.executable, "-c", "\n".join(lines), *map(str, words)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_arrays_are_fitted_without_the_packages_of_the_extras(tmp_path):
    program = """
import numpy as np, parkf
tracks = parkf.load(sys.argv[1]).fit(np.load(sys.argv[2]), robust=True, score=True)
np.savez(sys.argv[3], **{name: tracks[name] for name in tracks.columns})
"""
    done = _without_extras(program, SET, ARRAYS, tmp_path / "tracks.npz")
    assert done.returncode == 0, done.stderr
    with_all = parkf.load(SET).fit(parkf.example(), robust=True, score=True)
    alone = np.load(tmp_path / "tracks.npz")
    assert set(alone) == set(with_all.columns)
    for name in alone:
        np.testing.assert_array_equal(alone[name], with_all[name], err_msg=name)


def test_the_two_files_of_the_example_have_the_same_hits():
    table, arrays = pq.read_table(parkf.example()), np.load(ARRAYS)
    assert is_sealed(parkf.example())
    assert list(arrays) == [name for name, _ in MEASURED.fields]
    for name, type_ in MEASURED.fields:
        assert arrays[name].dtype == type_.base
        np.testing.assert_array_equal(arrays[name], numbers(table[name]))


@pytest.mark.parametrize(
    ("what", "package"),
    [
        ("parkf.load(sys.argv[1]).fit(parkf.example())", "pyarrow"),
        ("parkf.run", "pandas"),
    ],
)
def test_python_names_the_extra_that_is_missing(what, package):
    done = _without_extras(f"import parkf\n{what}", SET)
    assert f"ParkfError: {package}: this package is not installed" in done.stderr
    assert done.stderr.rstrip().endswith("pip install 'parkf[train]'")


@pytest.mark.parametrize(
    ("words", "package"),
    [
        (("fit", SET, "examples/candidates.parquet", "no.parquet"), "pyarrow"),
        (("run", "smoke"), "pyarrow"),
    ],
)
def test_commands_name_it_in_one_line(words, package):
    done = _without_extras("from parkf.cli.main import main\nmain()", *words)
    assert done.returncode == 1
    expected = (
        "this package is not installed, expected here; install parkf with it: pip install 'parkf[train]'"
    )
    assert done.stderr.splitlines()[-1] == f"error: {package}: {expected}"
    assert not (ROOT / "no.parquet").exists()


@pytest.mark.parametrize("words", ["params list", "doctor"])
def test_other_commands_do_without(words):
    done = _without_extras("from parkf.cli.main import main\nmain()", *words.split())
    assert (done.returncode, done.stderr) == (0, "")


def test_packages_of_no_extra_are_not_explained():
    assert how_to_install(ModuleNotFoundError(name="no_such_package")) is None
    assert how_to_install(ModuleNotFoundError("without a name")) is None
    assert how_to_install(ModuleNotFoundError(name="parkf._no_such_module")) is None
