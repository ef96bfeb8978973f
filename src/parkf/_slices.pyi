from typing import Any

import numpy as np
from numpy.typing import NDArray

row: int

def builds() -> list[str]: ...

# States, covariances, z and polarity are all float32 or all float64, and so is the result.
def carry(
    numbers: NDArray[np.float32],
    place: list[float],
    centre: NDArray[np.float64],
    scatterers: NDArray[np.float64],
    states: NDArray[Any],
    covariances: NDArray[Any],
    z_from: NDArray[Any],
    z_to: NDArray[Any],
    polarity: NDArray[Any],
    threads: int = 1,
    build: str = "",
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[np.bool_]]: ...
