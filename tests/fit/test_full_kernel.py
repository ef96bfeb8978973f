"""The full fit's headers alone pass the sanitizers, and give the same bits in scalars and in lanes."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def printed_by(folder, number):
    """Build the program for a type of number and run it; return its output."""
    program = folder / "check"
    flags = ["-std=c++17", "-O0", "-Wall", "-Wextra", "-Werror", "-Wno-psabi", "-DPARKF_CALLS"]
    sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    source = Path(__file__).with_name("full_fit_check.cpp")
    command = [
        "g++",
        *flags,
        *sanitizers,
        f"-DNUMBER={number}",
        f"-I{ROOT / 'src/kernel'}",
        source,
        "-o",
        program,
    ]
    subprocess.run(command, check=True)
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
def test_the_kernel_is_clean_and_lanes_give_the_scalars_bits(tmp_path):
    alone = printed_by(tmp_path, "double")
    together = printed_by(tmp_path, "Lanes<double,4>")
    assert alone == together
    assert len(set(alone.splitlines())) > 300
