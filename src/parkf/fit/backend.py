"""What fits run on: processor cores, or a GPU where there is one.

Both compile the same headers, and their results agree to rounding, not byte for byte.
"""

from parkf.fit import gpu
from parkf.io.errors import ParkfError
from parkf.io.option_types import Backend, BackendChoice


def chosen(choice: BackendChoice) -> tuple[Backend, str]:
    """Choose what fits run on, and describe it in words.

    Raises
    ------
    ParkfError
        When a GPU is asked for and CuPy or the GPU is missing.
    """
    if choice == "gpu":
        return "gpu", gpu.device()
    if choice == "auto":
        try:
            return "gpu", gpu.device()
        except ParkfError as error:
            return "cpu", f"processor cores ({error})"
    return "cpu", "processor cores"
