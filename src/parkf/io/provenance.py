"""Source code and environment that a result was made with, and whether it must be made again."""

import hashlib
import platform
from collections.abc import Sequence
from importlib.metadata import version as installed
from pathlib import Path

from parkf.io.errors import ParkfError
from parkf.io.process_settings import linear_algebra

PACKAGES = ("numpy", "scipy", "sympy", "iminuit", "pythia8mc", "pyarrow")
"""Whose versions may change numbers, or the bytes that they are written in."""

_SOURCES = ("*.py", "*.hpp", "*.cpp", "*.cu", "*.cmake", "*.html", "*.css", "*.js", "*.dat")


def code_hash(parts: Sequence[Path]) -> str:
    """Fingerprint of source files, independent of where they lie.

    Parameters
    ----------
    parts : sequence of Path
        Files, or folders that are searched for sources of every kind.

    Returns
    -------
    str
        16 hexadecimal digits.

    Raises
    ------
    ParkfError
        When a part does not exist: a rule that lists it would never run again.
    """
    digest = hashlib.sha256()
    for part in parts:
        if part.is_dir():
            files = sorted(file for pattern in _SOURCES for file in part.rglob(pattern))
        elif part.is_file():
            files = [part]
        else:
            raise ParkfError(f"{part}: no such source; a rule of the workflow names it")
        for file in files:
            digest.update(f"{file.relative_to(part.parent).as_posix()}\0".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def environment() -> dict[str, str]:
    """Versions of what results depend on beside the code, by name."""
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "linear algebra": linear_algebra(),
        **{package: installed(package) for package in PACKAGES},
    }
