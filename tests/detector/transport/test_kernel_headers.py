"""The headers compile by themselves, without warnings, and run clean under the sanitizers."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
COMPILER = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
@pytest.mark.parametrize(
    ("source", "sanitizers"),
    [
        ("kernel_check.cpp", "address,undefined"),
        # With the address sanitizer, lanes take minutes to compile.
        ("jacobian_check.cpp", "undefined"),
    ],
)
def test_headers_run_clean_under_sanitizers(tmp_path: Path, source: str, sanitizers: str) -> None:
    program = tmp_path / "kernel_check"
    warnings = ["-Wall", "-Wextra", "-Werror", "-Wno-psabi"]
    # Where everything is inlined, what the sanitizers add takes four times as long to compile.
    flags = ["-std=c++17", "-O0", "-g", *warnings, "-pthread", "-DPARKF_CALLS"]
    file = Path(__file__).with_name(source)
    command = [
        str(COMPILER),
        *flags,
        f"-fsanitize={sanitizers}",
        "-fno-sanitize-recover",
        f"-I{ROOT / 'src/kernel'}",
        str(file),
    ]
    built = subprocess.run([*command, "-o", str(program)], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    ran = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
