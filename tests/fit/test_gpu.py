"""The GPU's source is compiled where a CUDA compiler exists, and run where a GPU exists."""

import ctypes
import ctypes.util
import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from kalman_toy import generate

from parkf.fit import fit
from parkf.fit.gpu import OPTIONS
from parkf.fit.source import flattened
from parkf.model.steps import FORMS

nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
both_forms = pytest.mark.parametrize("forms", FORMS)


@nvcc
@both_forms
@pytest.mark.parametrize("architecture", ["sm_80", "sm_86", "sm_90"])
def test_nvcc_compiles_both_schemes_without_spills(architecture, forms, tmp_path):
    source = tmp_path / "fit.cu"
    source.write_text(flattened(forms))
    flags = ["-DPARKF_REAL=float", "-Xptxas=-v", "-cubin"]
    result = subprocess.run(
        # Warning 177 is about constants of the headers that the GPU does not use.
        ["nvcc", *OPTIONS, "-diag-suppress=177", f"-arch={architecture}", *flags, str(source)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert "warning" not in result.stderr
    assert re.findall(r"(\d+) bytes spill stores", result.stderr) == ["0", "0"]
    # Arrays lie in registers or in shared memory. An array indexed by a variable would lie in local memory.
    assert all(int(stack) == 0 for stack in re.findall(r"(\d+) bytes stack frame", result.stderr))


def nvrtc():
    """The run-time compiler's library, or None."""
    wheel = importlib.util.find_spec("nvidia")
    folders = list(wheel.submodule_search_locations or []) if wheel else []
    found = [path for folder in folders for path in sorted(Path(folder).glob("*/lib/libnvrtc.so.*"))]
    name = str(found[0]) if found else ctypes.util.find_library("nvrtc")
    return ctypes.CDLL(name) if name else None


@pytest.mark.skipif(nvrtc() is None, reason="the NVRTC library is not installed")
@both_forms
@pytest.mark.parametrize("file", ["fit/fit.cu", "fit/robust.cu"])
@pytest.mark.parametrize("real", ["float", "double"])
def test_the_run_time_compiler_takes_it(real, file, forms):
    """CuPy's compiler has no standard headers, so the source must not use any."""
    library, program = nvrtc(), ctypes.c_void_p()
    library.nvrtcCreateProgram(
        ctypes.byref(program), flattened(forms, file).encode(), b"fit.cu", 0, None, None
    )
    options = [o.encode() for o in (*OPTIONS, "--gpu-architecture=sm_80", f"-DPARKF_REAL={real}")]
    status = library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    size = ctypes.c_size_t()
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, log)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    assert status == 0, log.value.decode()


@nvcc
@both_forms
def test_nvcc_compiles_the_robust_fit(forms, tmp_path):
    source = tmp_path / "robust.cu"
    source.write_text(flattened(forms, "fit/robust.cu"))
    flags = ["-diag-suppress=177", "-arch=sm_80", "-DPARKF_REAL=float", "-cubin"]
    done = subprocess.run(
        ["nvcc", *OPTIONS, *flags, str(source)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr


@pytest.mark.gpu
@both_forms
@pytest.mark.parametrize("scheme", ["smoother", "trigger", "robust"])
def test_gpu_and_cpu_agree(scheme, forms):
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        pytest.skip(f"no GPU: {error}")
    if (scheme, forms) == ("trigger", "improved"):
        pytest.skip("the trigger has production's forms")
    toy = generate(3000, 8000.0, seed=3, forms=forms)
    for precision, tolerance in (("float32", 0.02), ("float64", 1e-8)):
        tracks = toy.candidates(precision)
        a, b = (
            fit(
                toy.parameters,
                tracks,
                scheme="smoother" if scheme == "robust" else scheme,
                precision=precision,
                backend=where,
                robust=scheme == "robust",
            )
            for where in ("cpu", "gpu")
        )
        for name in ("x", "y", "tx", "ty", "qop"):
            pull = (getattr(a, name) - getattr(b, name)) / np.sqrt(getattr(a, name * 2))
            assert np.abs(pull).max() < tolerance
        np.testing.assert_array_equal(a.status, b.status)
