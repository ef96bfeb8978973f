"""Settings of a process that must be made before NumPy and Arrow are loaded."""

import os
import sys

import parkf._transport as _transport

_KERNELS = "OPENBLAS_CORETYPE"


def prepare_process() -> None:
    """Set one thread, and kernels of linear algebra and an allocator unless the environment names others.

    The last bits of a sum depend on its order, which OpenBLAS chooses by processor and number of threads.
    One thread and the kernels for Haswell, which run on all x86-64 processors with AVX2, produce the same
    bits everywhere.

    A job reads a table piece by piece. jemalloc reuses the memory of the last piece for the next; Arrow's
    default allocator keeps 30 to 45 MB more, and the C library's grows as a job goes on. All builds of Arrow
    for Linux include jemalloc.
    """
    os.environ.update({f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "MKL", "OMP")})
    if "v3" in _transport.builds():
        os.environ.setdefault(_KERNELS, "Haswell")
    if sys.platform == "linux":
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "jemalloc")


def linear_algebra() -> str:
    """Return the name of the kernels that OpenBLAS uses."""
    return os.environ.get(_KERNELS, "as the processor suggests")
