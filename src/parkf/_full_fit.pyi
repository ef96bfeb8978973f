from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from parkf._transport import Detector, Field

def builds() -> list[str]: ...
def fit(
    field: Field,
    detector: Detector,
    *,
    ut_plane: int,
    scifi_plane: int,
    velo_sigma: float,
    beam_x: float,
    beam_y: float,
    polarity: NDArray[np.float64],
    qop: NDArray[np.float64],
    velo_n: NDArray[np.int32],
    velo: Sequence[NDArray[np.float64]],
    ut: Sequence[NDArray[np.float64]],
    scifi: Sequence[NDArray[np.float64]],
    kind: str,
    errors: bool,
    build: str,
    threads: int,
) -> tuple[NDArray[np.float64], NDArray[np.int32]]: ...
