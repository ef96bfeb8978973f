import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]

# Set, name and meaning of each number, in their order.
names: list[tuple[str, str, str]]

def estimate(
    numbers: F64, qop: F64, variance: F64, velo_hits: F64, upstream_qop: F64, upstream_variance: F64
) -> F64: ...
def density(
    numbers: F64,
    qop: F64,
    variance: F64,
    velo_hits: F64,
    upstream_qop: F64,
    upstream_variance: F64,
    lost: F64,
) -> F64: ...
