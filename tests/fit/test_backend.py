"""Fits run on a GPU where one is present; where none is, the reason is reported."""

import sys
from types import SimpleNamespace

import pytest
from kalman_toy import generate
from typer.testing import CliRunner

from parkf.cli.main import app
from parkf.fit import fitter
from parkf.fit.gpu import choose_backend
from parkf.io.errors import ParkfError
from parkf.io.tables import CANDIDATES

from ..rows import candidates as rows


class NoGpuError(RuntimeError):
    pass


def cupy(name=b"A card"):
    """Stand in for CuPy in the search for a GPU; without `name` no GPU is found."""

    def count():
        if name is None:
            raise NoGpuError("no CUDA-capable device is detected")
        return 1

    runtime = SimpleNamespace(
        CUDARuntimeError=NoGpuError,
        getDeviceCount=count,
        getDevice=lambda: 0,
        getDeviceProperties=lambda number: {"name": name},
    )
    return SimpleNamespace(cuda=SimpleNamespace(runtime=runtime))


@pytest.mark.parametrize(
    ("found", "reason"),
    [(None, "CuPy is missing; install parkf"), (cupy(None), "no GPU: no CUDA-capable device")],
    ids=["no CuPy", "no GPU"],
)
def test_without_a_gpu(monkeypatch, found, reason):
    monkeypatch.setitem(sys.modules, "cupy", found)
    where, words = choose_backend("auto")
    assert where == "cpu"
    assert words.startswith("processor cores (")
    assert reason in words
    with pytest.raises(ParkfError, match=reason):
        choose_backend("gpu")
    assert choose_backend("cpu") == ("cpu", "processor cores")


def test_with_one(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", cupy())
    assert choose_backend("auto") == choose_backend("gpu") == ("gpu", "A card")
    assert choose_backend("cpu")[0] == "cpu"


@pytest.fixture
def fit(tmp_path, monkeypatch):
    """Run `parkf fit` on a file of toy candidates; return exit code, output and the file's bytes."""
    toy = generate(300, 6000.0, seed=21)
    monkeypatch.setattr(fitter, "load", lambda folder, **_: toy.parameters)
    (tmp_path / "set").mkdir()
    (tmp_path / "set/manifest.json").touch()
    with CANDIDATES.writer(tmp_path / "candidates.parquet") as writer:
        writer.write_table(rows(toy))

    def call(*options):
        output = tmp_path / "fitted.parquet"
        output.unlink(missing_ok=True)
        files = (tmp_path / "set", tmp_path / "candidates.parquet", output)
        done = CliRunner().invoke(app, ["fit", *map(str, files), *options])
        return done, output.read_bytes() if output.exists() else None

    return call


def test_auto_gives_the_bytes_of_cores_where_there_is_no_gpu(fit, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    on_cores, expected = fit("--backend", "cpu")
    by_itself, got = fit("--backend", "auto")
    assert on_cores.exit_code == by_itself.exit_code == 0
    assert expected == got
    assert "fit: on processor cores (backend 'gpu': CuPy is missing" in by_itself.output
    assert "fit: on processor cores\n" in on_cores.output


def test_gpu_without_cupy_fits_nothing(fit, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    done, got = fit("--backend", "gpu")
    assert isinstance(done.exception, ParkfError)
    assert "CuPy is missing" in str(done.exception)
    assert got is None
