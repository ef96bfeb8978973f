"""The filter's steps on batches of tracks with five parameters, in float64."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]
Bool = NDArray[np.bool_]


@dataclass
class Estimate:
    """States with covariances.

    Attributes
    ----------
    state : (n, 5) float64
        x, y, tx, ty, q/p in mm, rad, 1/MeV.
    covariance : (n, 5, 5) float64
    z : (n,) float64
        mm.
    plane : (n, 3) float64
        The plane in which the states move: z0, dz/dx, dz/dy.
    """

    state: F64
    covariance: F64
    z: F64
    plane: F64

    def measure(self, hit: F64, slope: F64 | None, axis: int, variance: F64, where: Bool) -> F64:
        """Filter one coordinate (0: x, 1: y) of a hit, or x − slope·y for strips; return χ² (n,)."""
        state, covariance = self.state[where], self.covariance[where]
        h = np.zeros((len(state), 5))
        h[:, axis] = 1.0
        if slope is not None:
            h[:, 1] = -slope[where]
        with_hit = np.einsum("nij,nj->ni", covariance, h)
        predicted = np.einsum("ni,ni->n", h, with_hit) + variance[where]
        residual = hit[where] - np.einsum("ni,ni->n", h, state)
        gain = with_hit / predicted[:, None]
        self.state[where] = state + gain * residual[:, None]
        self.covariance[where] = covariance - gain[:, :, None] * with_hit[:, None, :]
        self.make_symmetric()
        chi2 = np.zeros(len(where))
        chi2[where] = residual**2 / predicted
        return chi2

    def make_symmetric(self) -> None:
        """Make the covariances symmetric: the filter would amplify a difference that rounding makes."""
        self.covariance = 0.5 * (self.covariance + self.covariance.transpose(0, 2, 1))

    def scatter(self, angle: F64, where: Bool) -> None:
        """Add the scattering of a thin layer, whose projected angle has the width `angle`, (n,)."""
        tx, ty = self.state[where, 2], self.state[where, 3]
        square = (1.0 + tx**2 + ty**2) * angle[where] ** 2
        self.covariance[where, 2, 2] += (1.0 + tx**2) * square
        self.covariance[where, 3, 3] += (1.0 + ty**2) * square
        self.covariance[where, 2, 3] += tx * ty * square
        self.covariance[where, 3, 2] += tx * ty * square


def on_plane(state: F64, plane: F64) -> F64:
    """Return how a state on an inclined plane shifts along the track, relative to a state at fixed z.

    Parameters
    ----------
    state : (n, 5) float64
        On the planes.
    plane : (n, 3) float64
        z0, dz/dx, dz/dy.

    Returns
    -------
    (n, 5, 5) float64
        Derivatives of the state at the z of the plane's point by the state on the plane.
    """
    result = np.tile(np.eye(5), (len(state), 1, 1))
    result[:, :2, :2] -= state[:, 2:4, None] * plane[:, None, 1:]
    return result


def changed_energy(qop: F64, loss: F64, mass: float) -> tuple[F64, F64]:
    """Return q/p after an energy loss (negative: a gain) and its derivative by q/p before; (n,) each."""
    momentum = 1.0 / np.abs(qop)
    before = np.hypot(momentum, mass)
    after = np.maximum(before - loss, mass * (1.0 + 1e-3))
    momentum_after = np.sqrt(after**2 - mass**2)
    derivative = momentum**3 * after / (momentum_after**3 * before)
    return np.sign(qop) / momentum_after, derivative
