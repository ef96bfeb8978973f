"""The GPU's source is compiled where a CUDA compiler exists, and run where a GPU exists."""

import ctypes
import ctypes.util
import importlib.util
import json
import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from benchmarks.gpu_build import FILES, compiled, source_of, version
from cuda_quick import quick
from kalman_toy import generate
from uniform_field import uniform

from parkf.fit import fit
from parkf.fit.gpu import OPTIONS
from parkf.fit.source import flattened
from parkf.io.kinds import KINDS, LONG
from parkf.model.steps import FORMS

RESULT = Path(__file__).parents[2] / "benchmarks/results/gpu_build.json"
nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
both_forms = pytest.mark.parametrize("forms", FORMS)


@nvcc
@pytest.mark.parametrize(
    ("architecture", "forms"), [("sm_86", "production"), ("sm_90", "production"), ("sm_90", "improved")]
)
def test_nvcc_compiles_both_schemes_without_spills(architecture, forms):
    kernels = compiled(forms, "fit/fit.cu", "float32", architecture)
    # Arrays lie in registers or in shared memory. An array indexed by a variable would lie in local memory.
    assert [(one.spill_stores, one.spill_loads, one.stack) for one in kernels] == [(0, 0, 0)] * 2
    content = json.loads(RESULT.read_text())
    if (content["nvcc"], content["architecture"]) == (version(), architecture):
        own = {"forms": forms, "file": "fit/fit.cu", "source": source_of(forms, "fit/fit.cu")}
        stored = [
            one for one in content["kernels"] if (own | {"precision": "float32"}).items() <= one.items()
        ]
        # The file is of an earlier source until `python -m benchmarks.gpu_build --json` writes it again.
        assert stored in ([], [own | {"precision": "float32"} | asdict(one) for one in kernels])


@nvcc
def test_the_robust_fit_keeps_its_numbers_in_registers_but_for_the_record():
    kernels = compiled("improved", "fit/robust.cu", "float32", "sm_90")
    assert [(one.spill_stores, one.spill_loads) for one in kernels] == [(0, 0)] * 2
    (fit,) = (one for one in kernels if one.name == "fit_robust")
    assert fit.warps == 12


def run_time_compilers():
    """Return the paths of the run-time compiler's libraries, of each release of CUDA that is installed."""
    wheel = importlib.util.find_spec("nvidia")
    folders = list(wheel.submodule_search_locations or []) if wheel else []
    found = [str(path) for folder in folders for path in sorted(Path(folder).glob("*/lib/libnvrtc.so.*"))]
    system = ctypes.util.find_library("nvrtc")
    return found or ([system] if system else [])


# What CuPy adds to the options of a kernel.
OF_CUPY = ("-ftz=true", "--device-as-default-execution-space")


@pytest.mark.skipif(not run_time_compilers(), reason="the NVRTC library is not installed")
@pytest.mark.parametrize("compiler", run_time_compilers(), ids=lambda path: Path(path).name)
@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize(("real", "forms"), [("float", "production"), ("double", "improved")])
def test_the_run_time_compiler_takes_it(compiler, real, file, forms):
    """CuPy's compiler has no standard headers, so the source must not use any."""
    library, program = ctypes.CDLL(compiler), ctypes.c_void_p()
    release, minor = ctypes.c_int(), ctypes.c_int()
    library.nvrtcVersion(ctypes.byref(release), ctypes.byref(minor))
    library.nvrtcCreateProgram(
        ctypes.byref(program), flattened(forms, file).encode(), b"fit.cu", 0, None, None
    )
    given = (*OPTIONS, *OF_CUPY, "--gpu-architecture=sm_80", f"-DPARKF_REAL={real}", *quick(release.value))
    options = [one.encode() for one in given]
    status = library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    size = ctypes.c_size_t()
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, log)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    assert status == 0, log.value.decode()


@pytest.fixture
def with_gpu():
    """Skip the test without a GPU."""
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        pytest.skip(f"no GPU: {error}")


def both(toy, precision, **options):
    """Fit on the processor and on the GPU."""
    tracks = toy.candidates(precision)
    return [
        fit(toy.parameters, tracks, precision=precision, backend=where, **options) for where in ("cpu", "gpu")
    ]


TOLERANCES = {"float32": 0.02, "float64": 1e-8}  # of the states, in their errors


@pytest.mark.gpu
@pytest.mark.usefixtures("with_gpu")
@both_forms
@pytest.mark.parametrize("scheme", ["smoother", "trigger", "robust"])
def test_gpu_and_cpu_agree(scheme, forms):
    if (scheme, forms) == ("trigger", "improved"):
        pytest.skip("the trigger has production's forms")
    toy = generate(3000, 8000.0, seed=3, forms=forms)
    options = {"robust": True} if scheme == "robust" else {"scheme": scheme}
    for precision, tolerance in TOLERANCES.items():
        a, b = both(toy, precision, **options)
        for name in ("x", "y", "tx", "ty", "qop"):
            pull = (getattr(a, name) - getattr(b, name)) / np.sqrt(getattr(a, name * 2))
            assert np.abs(pull).max() < tolerance
        np.testing.assert_array_equal(a.status, b.status)


@pytest.mark.gpu
@pytest.mark.usefixtures("with_gpu")
@both_forms
@pytest.mark.parametrize("kind", [name for name in KINDS if name != LONG.name])
def test_gpu_and_cpu_agree_on_kinds(kind, forms):
    toy = generate(3000, 8000.0, seed=3, forms=forms)
    toy.parameters.slices = uniform(0.1)
    for precision, tolerance in TOLERANCES.items():
        a, b = both(toy, precision, kind=kind)
        for name in ("x", "y", "tx", "ty", "qop"):
            pull = (getattr(a, name) - getattr(b, name)) / np.sqrt(getattr(a, name * 2))
            assert np.nanmax(np.abs(pull)) < tolerance
        assert np.mean(a.status == b.status) > 0.999
