"""What processes must agree on to give the same last bits, whatever machine they run on."""

import os

from parkf import _transport

_VARIABLE = "OPENBLAS_CORETYPE"
_EVERYWHERE = "Haswell"


def settle_arithmetic() -> None:
    """Keep linear algebra to one core and to one kind of kernel; call it before NumPy is loaded.

    The last bits of a sum depend on its order, which OpenBLAS chooses by the processor. The kernels for
    Haswell run on all x86-64 processors with AVX2. An environment that names another one is left as it is.
    """
    os.environ.update({f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "MKL", "OMP")})
    if "v3" in _transport.builds():
        os.environ.setdefault(_VARIABLE, _EVERYWHERE)


def linear_algebra() -> str:
    """Name the kernels that linear algebra takes."""
    return os.environ.get(_VARIABLE, "as the processor suggests")
