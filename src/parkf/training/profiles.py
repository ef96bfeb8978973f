"""Profiles of a step's residuals in the track's state and momentum: they show what a form misses."""

import numpy as np
from numpy.typing import NDArray

from parkf.model.codegen.numpy_step import NumpyStep
from parkf.training.minimise import SAMPLE
from parkf.training.result import Profile
from parkf.training.rows import COMPONENTS, Rows, StoredRows, residuals

F64 = NDArray[np.float64]

VARIABLES = ("p", "x", "y", "tx", "ty")
SLICES = 16  # of equal numbers of rows


def residual_profiles(functions: NumpyStep, p: F64, rows: StoredRows) -> list[Profile]:
    """Mean and RMS of δ_par/σ_MS in slices of momentum, position and slopes at the origin.

    A step without scattering has no profiles.
    """
    if not functions.step.noise:
        return []
    sample = rows.sample(SAMPLE)
    shares = np.linspace(0, 1, SLICES + 1)
    edges = {name: np.quantile(_variable(name, sample), shares) for name in VARIABLES}
    sums = {name: np.zeros((3, SLICES, len(COMPONENTS))) for name in VARIABLES}
    for block in rows.blocks():
        delta, sigma = residuals(functions.predict(p, block), block, "e"), functions.noise(p, block)
        ratios = [delta[c] / sigma[c] for c in COMPONENTS]
        for name in VARIABLES:
            place = np.searchsorted(edges[name], _variable(name, block), "right") - 1
            place = np.clip(place, 0, SLICES - 1)
            for c, ratio in enumerate(ratios):
                for power in range(3):
                    sums[name][power, :, c] += np.bincount(place, ratio**power, SLICES)
    profiles = []
    for name, (rows_in_slice, total, squares) in sums.items():
        count = np.maximum(rows_in_slice, 1)
        mean, rms = total / count, np.sqrt(squares / count)
        profiles.append(
            Profile(
                variable=name,
                edges=edges[name].tolist(),
                mean=dict(zip(COMPONENTS, mean.T.tolist(), strict=True)),
                rms=dict(zip(COMPONENTS, rms.T.tolist(), strict=True)),
            )
        )
    return profiles


def _variable(name: str, rows: Rows) -> F64:
    values: F64 = 1e-3 / np.abs(rows["qop"]) if name == "p" else rows[f"{name}0"]
    return values
