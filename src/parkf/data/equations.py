"""Linear least squares of the detector: how large its nuisances are, by residuals and their derivatives.

Residuals r with the weights W are A·α plus noise. The nuisances α are displacements, scales or factors. Three
sums over all residuals are kept: AᵀWA, AᵀWr, and the covariance of the latter, which is AᵀWA if W is the
inverse of the residuals' covariance. A measurement of α from elsewhere, such as a survey, is one more
residual. Combinations of nuisances that nothing determines are weak modes: they stay as assumed, and are
named.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space

Floats = NDArray[np.float64]

_NAMED = 4  # largest parts of a weak mode that are named


def errors_of(covariance: Floats) -> dict[str, Floats]:
    """Return ``error`` (n,) and ``correlation`` (n, n) of numbers with this covariance (n, n)."""
    error = np.sqrt(np.diag(covariance))
    return {"error": error, "correlation": covariance / np.outer(error, error)}


def as_plain(value: Any) -> Any:
    """Return mappings, sequences and arrays for JSON; numbers have seven digits, more than data determine."""
    if isinstance(value, Mapping):
        return {key: as_plain(one) for key, one in value.items()}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [as_plain(one) for one in value]
    return float(f"{value:.7g}") if isinstance(value, float) else value


@dataclass(frozen=True)
class Solution:
    """Nuisances with their covariance."""

    names: Sequence[str]
    value: Floats  # (n,)
    covariance: Floats  # (n, n); 0 for what stays as it was
    weak: Sequence[dict[str, float]] = ()  # combinations that stay as they were, by their largest parts
    tracks: int = 0

    @property
    def error(self) -> Floats:
        """Errors of the values, (n,); 0 for what stays as it was."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @property
    def by_name(self) -> dict[str, float]:
        """Values by name."""
        return dict(zip(self.names, self.value.tolist(), strict=True))

    def beside(self, reference: "Solution") -> "Solution":
        """Return these numbers minus those of an independent reference."""
        return Solution(self.names, self.value - reference.value, self.covariance + reference.covariance)

    def as_json(self, value: str = "value") -> dict[str, Any]:
        """Names, values by the key `value`, errors and correlations."""
        return {"names": list(self.names), value: self.value, **errors_of(self.covariance)}


class Equations:
    """Normal equations of n nuisances, which have names."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names, self.tracks = list(names), 0
        self.matrix, self.noise = np.zeros((2, len(names), len(names)))
        self.vector = np.zeros(len(names))

    def add(self, slopes: Floats, weights: Floats, residuals: Floats) -> None:
        """Add residuals (..., m) with weights (..., m, m) and derivatives by the nuisances (..., m, n)."""
        n = len(self.names)
        weighted = (weights @ slopes).reshape(-1, n)
        information = weighted.T @ slopes.reshape(-1, n)
        self.matrix += information
        self.noise += information
        self.vector += weighted.T @ residuals.ravel()

    def solve(
        self,
        *,
        known: Floats | float = np.inf,
        at: Floats | float = 0.0,
        fixed: Floats | None = None,
        scale: Floats | None = None,
        weak: float = 1e6,
    ) -> Solution:
        """Solve for the nuisances.

        Nuisances are known from elsewhere with errors `known` (n,) to be `at` (n,). Combinations `fixed`
        (c, n) stay 0. A combination whose error is above `weak` stays as it was. For this, `scale` (n,)
        multiplies the nuisances; by default, each is in units of the error that it has alone.
        """
        weight = np.broadcast_to(1.0 / np.square(known), self.vector.shape)
        matrix, noise = self.matrix + np.diag(weight), self.noise + np.diag(weight)
        if scale is None:
            scale = np.sqrt(np.diag(matrix))
            scale = np.where(scale > 0, scale, 1.0)
        free = np.eye(len(scale)) if fixed is None or not len(fixed) else null_space(fixed / scale)
        values, vectors = np.linalg.eigh(free.T @ (matrix / np.outer(scale, scale)) @ free)
        modes, determined = free @ vectors, values > weak**-2
        moved = modes[:, determined] / scale[:, None]
        inverse = moved / values[determined] @ moved.T
        left = [self._named(mode) for mode in modes[:, ~determined].T]
        found = inverse @ (self.vector + weight * at)
        return Solution(self.names, found, inverse @ noise @ inverse, left, self.tracks)

    def _named(self, mode: Floats) -> dict[str, float]:
        return {self.names[i]: float(mode[i]) for i in np.argsort(-np.abs(mode))[:_NAMED]}


def whitener(covariance: Floats) -> Floats:
    """Return the matrix (m, k) that makes this covariance the identity; m leaves out what is constant."""
    scale = np.sqrt(np.diag(covariance))
    scale = np.where(scale > 0, scale, 1)
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    kept = values > 1e-7
    return (vectors[:, kept] / np.sqrt(values[kept])).T / scale
