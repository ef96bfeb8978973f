"""Both readers of a signed registry: each returns why it refuses a set, or None."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from parkf.fit.consumer import cpp_header
from parkf.io.errors import ParkfError
from parkf.params.parameter_set import load

_PROGRAM = r"""
#include <iostream>
#include "parkf.hpp"

int main(int argc, char** argv) {
  for (int i = 2; i < argc; ++i) {
    try {
      parkf::ParameterSet::load(argv[i], argv[1]);
      std::cout << '\n';
    } catch (const parkf::Error& error) {
      std::cout << error.what() << '\n';
    }
  }
}
"""


def python(sets: Sequence[Path], trust: Path | None) -> list[str | None]:
    """Read sets in Python."""
    return [_refusal(path, trust) for path in sets]


def _refusal(path: Path, trust: Path | None) -> str | None:
    try:
        load(path, trust)
    except ParkfError as error:
        return str(error)
    return None


def compiled(folder: Path) -> Path:
    """Compile a program that reads sets with the C++ header."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "parkf.hpp").write_text(cpp_header())
    (folder / "main.cpp").write_text(_PROGRAM)
    flags = ["-O1", "-DPARKF_CALLS", "-Wall", "-Wextra", "-Werror", "-Wno-psabi"]
    command = ["g++", "-std=c++17", *flags, f"-I{folder}"]
    subprocess.run([*command, str(folder / "main.cpp"), "-o", str(folder / "read"), "-pthread"], check=True)
    return folder / "read"


def cpp(program: Path, sets: Sequence[Path], trust: Path | None) -> list[str | None]:
    """Read sets in C++."""
    command = [str(program), str(trust or ""), *map(str, sets)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return [line or None for line in done.stdout.splitlines()]
