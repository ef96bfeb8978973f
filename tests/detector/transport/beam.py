"""Pions from collisions, for transport through the detector."""

import numpy as np
import pandas as pd


def pions(count: int, *, seed: int, p_min: float, an_event: int) -> pd.DataFrame:
    """Draw pions of both charges up to 50 GeV, 2 < η < 5, from a beam spot of 30 µm and 45 mm."""
    rng = np.random.default_rng(seed)
    p = np.exp(rng.uniform(np.log(p_min), np.log(50000.0), count))
    theta = 2 * np.arctan(np.exp(-rng.uniform(2.0, 5.0, count)))
    phi = rng.uniform(0.0, 2 * np.pi, count)
    return pd.DataFrame(
        {
            "event": np.arange(count) // an_event,
            "particle": np.arange(count) % an_event,
            "charge": rng.choice([-1, 1], count),
            "mass": 139.57,
            "x": rng.normal(0.0, 0.03, count),
            "y": rng.normal(0.0, 0.03, count),
            "z": rng.normal(0.0, 45.0, count),
            "px": p * np.sin(theta) * np.cos(phi),
            "py": p * np.sin(theta) * np.sin(phi),
            "pz": p * np.cos(theta),
            "z_end": np.inf,
            "p": p,
        }
    )
