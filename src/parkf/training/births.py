"""Tracks that are born anywhere up to the end of the magnet, such as products of decays."""

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]

P_MIN, P_MAX = 1400.0, 100e3  # MeV
# Half of the tracks are born up to the first z, before the magnet, the others up to the second, mm.
BIRTHS = (2500.0, 7000.0)
# Directions of births, as slopes of the line to the origin, and their spread times momentum, MeV: the
# products of decays fly apart.
BIRTH_SLOPES, SPREAD = (0.34, 0.28), 175.0


def births(count: int, *, seed: int) -> tuple[F64, F64]:
    """Draw tracks at their birth: states (n, 5) of x, y (mm), tx, ty, q/p (1/MeV), and their z (n,), mm."""
    random = np.random.Generator(np.random.Philox(key=[seed, 0]))
    flat, normal = random.uniform(size=(count, 5)), random.standard_normal((count, 2))
    # Uniform in 1/p: a polynomial in 1/p needs most tracks where its range ends.
    qop = (1 / P_MAX + flat[:, 0] * (1 / P_MIN - 1 / P_MAX)) * np.where(flat[:, 1] < 0.5, -1, 1)
    born = flat[:, 2] * np.where(np.arange(count) % 2, BIRTHS[1], BIRTHS[0])
    line = (2 * flat[:, 3:] - 1) * BIRTH_SLOPES
    return np.column_stack([line * born[:, None], line + SPREAD * np.abs(qop)[:, None] * normal, qop]), born
