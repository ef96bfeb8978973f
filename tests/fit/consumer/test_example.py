"""The C++ example, built as users build it, gives the same bits as parkf's own fit."""

import shutil
import subprocess

import example
import numpy as np
import parkf._fitter as _fitter
import pytest
from typer.testing import CliRunner
from uniform_field import uniform

from parkf.cli.main import app
from parkf.fit import cpu
from parkf.fit.electron import as_electrons
from parkf.fit.fitted import INTEGERS, NUMBERS, STATUS_BITS, is_good
from parkf.fit.hits import from_arrow
from parkf.io.kinds import KINDS
from parkf.io.tables import BEHIND_VELO, CANDIDATES, ELECTRON, FITTED
from parkf.params.electron import COUNT, ElectronFit
from parkf.params.manifest import Gate
from parkf.params.parameter_set import with_blobs
from parkf.params.publisher import Publisher
from parkf.params.registry import Registry

from ...rows import candidates

pytestmark = pytest.mark.skipif(shutil.which("cmake") is None, reason="CMake is not installed")
FASTEST = _fitter.builds()[0]
SAMPLE = example.EXAMPLES / "candidates.parquet"
SHIPPED = Registry(example.EXAMPLES.parent / "params")


@pytest.fixture
def rows(toy, tmp_path):
    """The toy's candidates, which are in the file candidates.parquet, too."""
    rows = candidates(toy)
    with CANDIDATES.writer(tmp_path / "candidates.parquet") as writer:
        writer.write_table(rows)
    return rows


def expect_same_bits(path, expected, *, last=0):
    """Compare a file of fitted tracks with parkf's own, to `last` units in the last place."""
    values = {name: getattr(expected, name) for name in (*NUMBERS, *INTEGERS)} | dict(expected.more)
    fitted = FITTED.with_columns(BEHIND_VELO if expected.more else ()).open(path).read()
    for name in values:
        got, bits = fitted.column(name).to_numpy(), f"i{values[name].itemsize}"
        away = np.abs(got.view(bits).astype(np.int64) - values[name].view(bits))
        assert away.max() <= (0 if name in INTEGERS else last), name


def test_the_example_gives_the_same_bits(tmp_path, built_example, rows, toy_set):
    toy_set.save(tmp_path / "set")
    fitted = tmp_path / "fitted.parquet"
    said = example.fit(built_example(FASTEST), tmp_path / "set", tmp_path / "candidates.parquet", fitted)
    assert said.startswith("1001 tracks, ")
    tracks = from_arrow(rows, np.float32)
    expect_same_bits(fitted, cpu.fit(toy_set, tracks, smoother=True, threads=1, build=FASTEST))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "long"])
def test_other_kinds_of_tracks_have_the_same_numbers(tmp_path, built_example, rows, toy_set, kind):
    with_slices = with_blobs(toy_set.manifest, toy_set.constant, toy_set.table, slices=uniform(0.1))
    with_slices.save(tmp_path / "set")
    fitted = tmp_path / "fitted.parquet"
    example.fit(built_example(FASTEST), tmp_path / "set", tmp_path / "candidates.parquet", fitted, kind)
    tracks = from_arrow(rows, np.float32)
    # The example may contract multiplications and additions otherwise than the module.
    expected = cpu.fit_kind(with_slices, tracks, KINDS[kind], threads=1, build=FASTEST)
    expect_same_bits(fitted, expected, last=8)


def test_electrons_have_the_same_numbers(tmp_path, built_example, rows, toy_set):
    numbers = np.array([-0.24, -0.15, 0.37, 5.5, -1.7, 0.39, 0.31, -0.86, 0.61, -0.83, -0.001, 1.05, 0.3])
    told = ElectronFit.of(numbers, np.full(COUNT, np.nan), 1000).described()
    manifest = toy_set.manifest.model_copy(update={"electron": told})
    knowing = with_blobs(manifest, toy_set.constant, toy_set.table, slices=uniform(0.1))
    knowing.save(tmp_path / "set")
    path = tmp_path / "fitted.parquet"
    example.fit(built_example(FASTEST), tmp_path / "set", tmp_path / "candidates.parquet", path, "electron")
    tracks = from_arrow(rows, np.float32)
    plain = cpu.fit(knowing, tracks, smoother=True, threads=1, build=FASTEST)
    expected = as_electrons(knowing, tracks, plain, threads=1)
    fitted = FITTED.with_columns(ELECTRON).open(path).read()
    for name, values in {"qop": expected.qop, "qopqop": expected.qopqop, **expected.more}.items():
        # The example may contract multiplications and additions otherwise than the module.
        np.testing.assert_allclose(fitted.column(name).to_numpy(), values, rtol=1e-6, err_msg=name)
    assert fitted.column("chi2_ut").to_numpy().tobytes() == plain.chi2_ut.tobytes()


@pytest.fixture(params=["a new set", "the newest published set"])
def published(request, toy_set, tmp_path):
    """A registry, and the version of the set to fit with."""
    if request.param == "a new set":
        sets = Publisher(tmp_path / "params")
        toy_set.save(tmp_path / "set")
        gate = Gate(what="ghosts", measured="25 %", bar="≤ 40 %", met=True)
        return sets, sets.publish(tmp_path / "set", year=2026, gates=[gate])
    usable = list(SHIPPED.valid())
    if not usable:
        pytest.skip("params/ holds no set yet")
    manifest = SHIPPED.load(usable[-1]).manifest
    if manifest.formulas != _fitter.formulas[manifest.forms]:
        pytest.skip(f"{usable[-1]} is of formulas from before; publish a new set")
    return SHIPPED, usable[-1]


def test_the_example_and_parkf_fit_agree(published, built_example, tmp_path, monkeypatch):
    sets, version = published
    said = example.fit(
        built_example(FASTEST), sets.path(version).absolute(), SAMPLE, tmp_path / "cpp.parquet"
    )
    assert said.startswith("400 tracks, ")
    assert f"with set {version} of forms" in said
    monkeypatch.chdir(sets.folder.parent)
    done = CliRunner().invoke(app, ["fit", version, str(SAMPLE), str(tmp_path / "python.parquet"), "--trust"])
    assert done.exit_code == 0, done.output
    got, expected = (FITTED.open(tmp_path / f"{name}.parquet").read() for name in ("cpp", "python"))
    for name in {*NUMBERS, *INTEGERS} - {"status"}:
        assert got.column(name).to_numpy().tobytes() == expected.column(name).to_numpy().tobytes(), name
    # Whoever fits in C++ knows the seeds, and compares q/p with them where that matters.
    ours = expected.column("status").to_numpy() & ~STATUS_BITS["far_seed"]
    np.testing.assert_array_equal(got.column("status").to_numpy(), ours)
    if sets is SHIPPED:
        assert is_good(expected.column("status").to_numpy()).mean() > 0.97


def test_the_example_says_what_is_wrong(tmp_path, built_example, toy_set):
    toy_set.save(tmp_path / "folder")
    pinned = example.exported(tmp_path / "folder", tmp_path / "set")
    (tmp_path / "tracks.bin").write_bytes(np.int32([1 << 30]).tobytes() + bytes(1000))
    (tmp_path / "none.bin").write_bytes(np.int32([0]).tobytes())
    for arguments, code, message in (
        ((), 2, "usage"),
        (("nowhere", pinned, "tracks.bin", "out"), 1, "nowhere: no such file; expected a set as one file"),
        (("folder", pinned, "tracks.bin", "out"), 1, "folder: no such file, it is a folder"),
        (("set", "0" * 64, "tracks.bin", "out"), 1, f"set: digest {pinned}, expected 0000"),
        (("set", pinned, "tracks.bin", "out"), 1, "1073741824 tracks are not in this file"),
        (("set", pinned, "none.bin", "out", "1", "downstrem"), 1, "kind 'downstrem': expected one of long,"),
        (("set", pinned, "none.bin", "out", "1", "scifi"), 1, "it has no steps inside the magnet"),
    ):
        done = subprocess.run(
            [built_example(FASTEST), *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == code
        assert message in done.stderr
