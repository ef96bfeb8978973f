"""Settings of a process that precede NumPy and Arrow, and all that results depend on beside the code."""

import ctypes
import os
import platform
import sys
from functools import cache
from importlib.metadata import version as installed
from pathlib import Path

import parkf._transport as _transport

PACKAGES = ("numpy", "scipy", "sympy", "iminuit", "pythia8mc", "pyarrow")
"""Packages whose versions may change numbers, or the bytes of files."""
_KERNELS, _CACHE = "OPENBLAS_CORETYPE", "XDG_CACHE_HOME"
# Numbers of the C library's settings (malloc.h), and their values in bytes: freed memory that the process
# keeps, and the size from which an array has pages of its own, the largest that is allowed.
_KEPT, _OWN_PAGES = (-1, 1 << 28), (-3, 1 << 25)


def prepare_process() -> None:
    """Set one thread, and kernels of linear algebra and an allocator unless the environment names others.

    The last bits of a sum depend on its order, which OpenBLAS chooses by processor and number of threads.
    One thread and the kernels for Haswell, which run on all x86-64 processors with AVX2, produce the same
    bits everywhere.

    A job reads a table piece by piece. jemalloc reuses the memory of the last piece for the next; Arrow's
    default allocator keeps 30 to 45 MB more, and the C library's grows as a job goes on. All builds of Arrow
    for Linux include jemalloc.

    NumPy's arrays come from the C library, which by default returns the memory of a freed array to the system
    at once. The next array of that size would begin with new pages, which the system clears first: 5 % of the
    time of a job.

    A user without a writable home, as in containers, has the caches of Snakemake and others in
    ``results/.cache``.
    """
    os.environ.update({f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "MKL", "OMP")})
    if "v3" in _transport.instruction_sets():
        os.environ.setdefault(_KERNELS, "Haswell")
    if sys.platform == "linux":
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "jemalloc")
        # Not every C library has these settings.
        if set_option := getattr(ctypes.CDLL(None), "mallopt", None):
            for option in (_KEPT, _OWN_PAGES):
                set_option(*option)
    if not _has_cache():
        os.environ[_CACHE] = str(Path("results/.cache").absolute())


def _has_cache() -> bool:
    try:
        # Programs ignore a relative path there, as the standard of these folders asks them to.
        named = os.environ.get(_CACHE, "")
        folder = Path(named) if Path(named).is_absolute() else Path.home() / ".cache"
        folder.mkdir(parents=True, exist_ok=True)
        return os.access(folder, os.W_OK)
    except (OSError, RuntimeError):
        # Python does not know the home of every user.
        return False


def environment() -> dict[str, str]:
    """Return the versions and settings that results depend on beside the code, by name."""
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "linear algebra": os.environ.get(_KERNELS, "as the processor suggests"),
        **_versions(),
    }


@cache
def _versions() -> dict[str, str]:
    return {package: installed(package) for package in PACKAGES}
