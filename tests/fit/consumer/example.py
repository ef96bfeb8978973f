"""The C++ example, built and run as its users do."""

import hashlib
import runpy
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

from parkf.params.parameter_set import load

EXAMPLES = Path(__file__).parents[3] / "examples"
ARCHITECTURES = {"v2": "x86-64-v2", "v3": "x86-64-v3", "v4": "x86-64-v4"}


def run(*command, cwd=None):
    """Run a command that must succeed; return its output."""
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(folder, header, build):
    """Compile the example with CMake for one of the kernel's builds; return the program."""
    run(
        *("cmake", "-S", EXAMPLES / "cpp", "-B", folder / "build"),
        *(f"-DPARKF_HEADER_DIR={header}", f"-DPARKF_ARCH={ARCHITECTURES[build]}"),
        "-DCMAKE_CXX_COMPILER=g++",
    )
    run("cmake", "--build", folder / "build")
    return folder / "build/fit"


def convert(*words):
    """Run tracks.py with these words, in this process: it has already imported what the program imports."""
    program = str(EXAMPLES / "cpp/tracks.py")
    with patch.object(sys, "argv", [program, *map(str, words)]):
        runpy.run_path(program, run_name="__main__")


def exported(parameters, file):
    """Write the set in a folder as the one file that the header reads; return its digest."""
    file.write_bytes(load(parameters).form)
    return hashlib.sha256(file.read_bytes()).hexdigest()


def fit(program, parameters, candidates, fitted, kind="long"):
    """Fit the candidates of a Parquet file with the set in a folder; return the program's output."""
    folder = fitted.parent
    convert("write", candidates, folder / "tracks.bin")
    sha256 = exported(parameters, folder / "set.parkf")
    said = run(program, "set.parkf", sha256, "tracks.bin", "fitted.bin", 2, kind, cwd=folder)
    convert("read", folder / "fitted.bin", candidates, fitted)
    return said
