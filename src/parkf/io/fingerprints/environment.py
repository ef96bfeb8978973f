"""Versions of Python and packages, and the machine: results depend on them beside the code."""

import platform
from importlib.metadata import version as installed

from parkf.io.process_settings import linear_algebra

PACKAGES = ("numpy", "scipy", "sympy", "iminuit", "pythia8mc", "pyarrow")
"""Packages whose versions may change numbers, or the bytes of files."""


def environment() -> dict[str, str]:
    """Return the versions and settings that results depend on beside the code, by name."""
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "linear algebra": linear_algebra(),
        **{package: installed(package) for package in PACKAGES},
    }
