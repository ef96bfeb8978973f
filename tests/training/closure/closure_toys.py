"""States in front of the magnet and constants for the tests of the closure."""

import numpy as np

SEED = 411
STARTED = 5000


def scattered(count, seed):
    """Draw states (n, 4) at z_in of tracks that begin near the origin, and their h (n,)."""
    random = np.random.default_rng(seed)
    across = random.uniform(-1, 1, (count, 2)) * [0.29, 0.24]
    h = random.choice([-1, 1], count) / (1500 * (100 / 1.5) ** random.uniform(size=count))
    slopes = across + random.normal(size=(count, 2)) * 1e-3
    slopes[:, 0] -= 30 * h
    return np.column_stack([across * 2665.0, slopes]), h
