"""States in front of the magnet, and what the closure's tests have in common."""

import numpy as np

SEED = 411
STARTED = 5000


def scattered(count, seed):
    """States at z_in, about from the origin, and h: (n, 4) and (n,)."""
    random = np.random.default_rng(seed)
    across = random.uniform(-1, 1, (count, 2)) * [0.29, 0.24]
    h = random.choice([-1, 1], count) / (1500 * (100 / 1.5) ** random.uniform(size=count))
    slopes = across + random.normal(size=(count, 2)) * 1e-3
    slopes[:, 0] -= 30 * h
    return np.column_stack([across * 2665.0, slopes]), h
