"""The C++ example and `parkf fit` give the same bits for the sample file in examples/."""

import shutil
from pathlib import Path

import example
import parkf._fitter as _fitter
import pytest
from typer.testing import CliRunner

from parkf.cli.main import app
from parkf.fit.fitted import INTEGERS, NUMBERS, is_good
from parkf.io.tables import FITTED
from parkf.params.manifest import Gate
from parkf.params.publisher import Publisher
from parkf.params.registry import Registry

SAMPLE = example.EXAMPLES / "candidates.parquet"
SHIPPED = Registry(Path(__file__).parents[3] / "params")


@pytest.fixture(params=["a new set", "the newest published set"])
def published(request, toy_set, tmp_path):
    """A registry, and the version of the set to fit with."""
    if request.param == "a new set":
        sets = Publisher(tmp_path / "params")
        toy_set.save(tmp_path / "set")
        gate = Gate(what="ghosts", measured="25 %", bar="≤ 40 %", met=True)
        return sets, sets.publish(tmp_path / "set", year=2026, gates=[gate])
    usable = [name for name in SHIPPED.versions() if SHIPPED.withdrawal(name) is None]
    if not usable:
        pytest.skip("params/ holds no set yet")
    manifest = SHIPPED.load(usable[-1]).manifest
    if manifest.formulas != _fitter.formulas[manifest.forms]:
        pytest.skip(f"{usable[-1]} is of formulas from before; publish a new set")
    return SHIPPED, usable[-1]


@pytest.mark.skipif(shutil.which("cmake") is None, reason="CMake is not installed")
def test_the_example_and_parkf_fit_agree(published, built_example, tmp_path, monkeypatch):
    sets, version = published
    program = built_example(_fitter.builds()[0])
    said = example.fit(program, sets.path(version).absolute(), SAMPLE, tmp_path / "cpp.parquet")
    assert said.startswith("400 tracks, ")
    assert f"with set {version} of forms" in said
    monkeypatch.chdir(sets.folder.parent)
    done = CliRunner().invoke(app, ["fit", version, str(SAMPLE), str(tmp_path / "python.parquet"), "--trust"])
    assert done.exit_code == 0, done.output
    got, expected = (FITTED.open(tmp_path / f"{name}.parquet").read() for name in ("cpp", "python"))
    for name in (*NUMBERS, *INTEGERS):
        assert got.column(name).to_numpy().tobytes() == expected.column(name).to_numpy().tobytes(), name
    if sets is SHIPPED:
        assert is_good(expected.column("status").to_numpy()).mean() > 0.97
