"""The C++ header stands alone, and compilers for GPUs take it."""

import shutil

import example
import pytest
from cuda_quick import quick_nvcc

from parkf.fit.consumer import cpp_header
from parkf.model.steps import FORMS


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
def test_nvcc_compiles_the_cuda_example(tmp_path, header):
    flags = ["-std=c++17", "-O0", "--fmad=true", "-diag-suppress=177", "-arch=sm_86", *quick_nvcc()]
    example.run("nvcc", *flags, f"-I{header}", example.EXAMPLES / "cuda/fit.cu", "-o", tmp_path / "fit")


def test_the_header_stands_alone():
    text = cpp_header()
    assert '#include "' not in text
    assert text.count("class ParameterSet {") == text.count("struct Covariance {") == 1
    assert all(f'"{forms.hash()}"' in text for forms in FORMS.values())
