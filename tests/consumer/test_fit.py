"""The examples: built as their users build them, and the same numbers as parkf's own fit to the last bit."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import parkf._fitter as _fitter
import pyarrow as pa
import pytest
from kalman_toy import generate

from parkf.consumer import cpp_header
from parkf.kalman import cpu
from parkf.kalman.candidates import from_arrow
from parkf.kalman.fitted import INTEGERS, NUMBERS
from parkf.parameters.imported import imported
from parkf.parameters.manifest import Constants
from parkf.steps import FORMS
from parkf.tables import CANDIDATES, FITTED

EXAMPLES = Path(__file__).parents[2] / "examples"
ARCHITECTURES = {"plain": "", "v2": "x86-64-v2", "v3": "x86-64-v3", "v4": "x86-64-v4"}


@pytest.fixture(scope="module")
def toy():
    return generate(1001, 6000.0, seed=4, efficiency=0.95)


@pytest.fixture(scope="module")
def parameters(toy):
    """The toy's set as one that can be saved."""
    forms = FORMS[toy.parameters.manifest.forms]
    constant = toy.parameters.constant
    blocks = {b.name: constant[forms.block_slice(b.name)].reshape(b.shape) for b in forms.blocks}
    constants = Constants(velo_sigma=0.0125, beam_x=0.02, beam_y=-0.03)
    return imported(forms, blocks, toy.parameters.table, constants, inputs={}, source="toy")


@pytest.fixture(scope="module")
def rows(toy):
    """The toy's candidates as rows of the table."""
    n = len(toy.arrays["qop"])
    others = {"event": np.arange(n) // 10, "candidate": np.arange(n) % 10, "particle": np.arange(n)}
    arrays = toy.arrays | others | {"purity": np.ones(n)}

    def column(name, kind):
        if pa.types.is_fixed_size_list(kind):
            values = pa.array(arrays[name].astype(np.float32).ravel())
            return pa.FixedSizeListArray.from_arrays(values, kind.list_size)
        return pa.array(arrays[name]).cast(kind)

    return pa.table([column(name, kind) for name, kind in CANDIDATES.columns], schema=CANDIDATES.schema)


def run(*command, cwd=None):
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(shutil.which("cmake") is None, reason="CMake is not installed")
@pytest.mark.parametrize("build", [_fitter.builds()[0], "plain"])
def test_the_example_gives_the_same_bits(tmp_path, header, parameters, rows, build):
    architecture = ARCHITECTURES[build]
    run(
        *("cmake", "-S", EXAMPLES / "cpp", "-B", tmp_path / "build"),
        *(f"-DPARKF_HEADER_DIR={header}", f"-DPARKF_ARCH={architecture}", "-DCMAKE_CXX_COMPILER=g++"),
    )
    run("cmake", "--build", tmp_path / "build")
    parameters.save(tmp_path / "set")
    with CANDIDATES.writer(tmp_path / "candidates.parquet") as writer:
        writer.write_table(rows)
    tracks = EXAMPLES / "cpp/tracks.py"
    run(sys.executable, tracks, "write", "candidates.parquet", "tracks.bin", cwd=tmp_path)
    said = run(tmp_path / "build/fit", "set", "tracks.bin", "fitted.bin", 2, cwd=tmp_path)
    assert said.startswith("1001 tracks, ")
    run(sys.executable, tracks, "read", "fitted.bin", "candidates.parquet", "fitted.parquet", cwd=tmp_path)

    batch = from_arrow(rows, np.float32)
    expected = cpu.fit(parameters, batch, smoother=True, threads=1, build=build)
    fitted = FITTED.open(tmp_path / "fitted.parquet").read()
    for name in (*NUMBERS, *INTEGERS):
        got = fitted.column(name).to_numpy()
        assert got.tobytes() == getattr(expected, name).tobytes(), name


def test_the_example_says_what_is_wrong(tmp_path, header, parameters):
    source = EXAMPLES / "cpp/fit.cpp"
    run("g++", "-std=c++17", "-O0", "-Wno-psabi", f"-I{header}", source, "-o", tmp_path / "fit", "-pthread")
    parameters.save(tmp_path / "set")
    (tmp_path / "tracks.bin").write_bytes(np.int32([1 << 30]).tobytes() + bytes(1000))
    for arguments, code, message in (
        ((), 2, "usage"),
        (("nowhere", "tracks.bin", "out"), 1, "nowhere/manifest.json: no such file"),
        (("set", "tracks.bin", "out"), 1, "1073741824 tracks are not in this file"),
    ):
        done = subprocess.run(
            [tmp_path / "fit", *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == code
        assert message in done.stderr


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
def test_nvcc_compiles_the_cuda_example(tmp_path, header):
    flags = ["-std=c++17", "-O3", "--fmad=true", "-diag-suppress=177", "-arch=sm_86"]
    run("nvcc", *flags, f"-I{header}", EXAMPLES / "cuda/fit.cu", "-o", tmp_path / "fit")


def test_the_header_stands_alone():
    text = cpp_header()
    assert '#include "' not in text
    assert text.count("class ParameterSet {") == text.count("struct Covariance {") == 1
    assert all(f'"{forms.hash()}"' in text for forms in FORMS.values())
