"""The headers compile by themselves, without warnings, and run clean under the sanitizers."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMPILER = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
def test_headers_run_clean_under_sanitizers(tmp_path: Path) -> None:
    program = tmp_path / "kernel_check"
    flags = (
        "-std=c++17 -O1 -g -Wall -Wextra -Werror -fsanitize=address,undefined -fno-sanitize-recover -pthread"
        " -Wno-psabi"
    )
    source = Path(__file__).with_name("kernel_check.cpp")
    command = [str(COMPILER), *flags.split(), f"-I{ROOT / 'src/kernel'}", str(source), "-o", str(program)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    ran = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
