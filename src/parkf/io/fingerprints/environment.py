"""Versions of what results depend on beside the code."""

import platform
from importlib.metadata import version as installed

from parkf.io.process_settings import linear_algebra

PACKAGES = ("numpy", "scipy", "sympy", "iminuit", "pythia8mc", "pyarrow")
"""Whose versions may change numbers, or the bytes that they are written in."""


def environment() -> dict[str, str]:
    """Versions of what results depend on beside the code, by name."""
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "linear algebra": linear_algebra(),
        **{package: installed(package) for package in PACKAGES},
    }
