"""The C++ examples, built as users build them, give the same bits as parkf's own fit."""

import shutil
import subprocess

import example
import numpy as np
import parkf._fitter as _fitter
import pytest

from parkf.fit import cpu
from parkf.fit.candidates import from_arrow
from parkf.fit.consumer import cpp_header
from parkf.fit.fitted import INTEGERS, NUMBERS
from parkf.io.tables import CANDIDATES, FITTED
from parkf.model.steps import FORMS

from ...rows import candidates


@pytest.mark.skipif(shutil.which("cmake") is None, reason="CMake is not installed")
@pytest.mark.parametrize("build", [_fitter.builds()[0], "plain"])
def test_the_example_gives_the_same_bits(tmp_path, built_example, toy, toy_set, build):
    toy_set.save(tmp_path / "set")
    rows = candidates(toy)
    with CANDIDATES.writer(tmp_path / "candidates.parquet") as writer:
        writer.write_table(rows)
    said = example.fit(
        built_example(build), "set", tmp_path / "candidates.parquet", tmp_path / "fitted.parquet"
    )
    assert said.startswith("1001 tracks, ")

    batch = from_arrow(rows, np.float32)
    expected = cpu.fit(toy_set, batch, smoother=True, threads=1, build=build)
    fitted = FITTED.open(tmp_path / "fitted.parquet").read()
    for name in (*NUMBERS, *INTEGERS):
        got = fitted.column(name).to_numpy()
        assert got.tobytes() == getattr(expected, name).tobytes(), name


def test_the_example_says_what_is_wrong(tmp_path, header, toy_set):
    source = example.EXAMPLES / "cpp/fit.cpp"
    example.run(
        "g++", "-std=c++17", "-O0", "-Wno-psabi", f"-I{header}", source, "-o", tmp_path / "fit", "-pthread"
    )
    toy_set.save(tmp_path / "set")
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
    example.run("nvcc", *flags, f"-I{header}", example.EXAMPLES / "cuda/fit.cu", "-o", tmp_path / "fit")


def test_the_header_stands_alone():
    text = cpp_header()
    assert '#include "' not in text
    assert text.count("class ParameterSet {") == text.count("struct Covariance {") == 1
    assert all(f'"{forms.hash()}"' in text for forms in FORMS.values())
