"""Curves of tracks in the SciFi, fitted to their hits: x(z) = a + b·z + c·z²(1 + r·z), y(z) = d + e·z."""

from functools import reduce

import numpy as np

from parkf.io import planes

# Whether each layer is a stereo layer.
STEREO = np.tile(planes.STEREO, planes.SCIFI_LAYERS // len(planes.STEREO))
# Iterations of a fit, and of the search for z. The second iteration uses the y of the first at each fibre.
PASSES = 2
_FEWEST_X, _FEWEST_STEREO = 3, 2  # layers that determine a curve


def fit_curves(
    fibre: dict[str, np.ndarray], collected: np.ndarray, z_reference: float, cubic_ratio: float
) -> np.ndarray:
    """Fit curves to the hits of tracks in the SciFi.

    x(z) = a + b·z + c·z²(1 + r·z) is fitted to the x layers. y(z) = d + e·z is fitted to the points where
    this curve crosses the stereo fibres. All hits have the same weight, as in the trigger's seeding (Allen,
    ``seed_xz`` and ``seed_confirmTracks``).

    `collected` (n, 12) are rows of `fibre`, -1 for none, in at least three x layers and two stereo layers.
    Return a, b, c, d, e, (n, 5), in mm.
    """
    slots = np.ascontiguousarray(collected.T)
    used = slots >= 0
    x, z0, dxdy, dzdy = (fibre[name][slots] for name in ("x", "z", "dxdy", "dzdy"))
    z0 = z0 - z_reference
    per_dxdy = 1.0 / np.where(used, dxdy, 1.0)[STEREO]
    y = np.zeros_like(x)
    for _ in range(PASSES):
        z = z0 + dzdy * y
        cubic = z * z * (1 + cubic_ratio * z)
        a, b, c = _fit_bend(z[~STEREO], cubic[~STEREO], (x + dxdy * y)[~STEREO], used[~STEREO])
        across = (a + b * z[STEREO] + c * cubic[STEREO] - x[STEREO]) * per_dxdy
        d, e = _fit_line(z[STEREO], across, used[STEREO])
        y = d + e * z
    return np.stack([a, b, c, d, e], axis=1)


def places_at(curve: np.ndarray, z: np.ndarray, cubic_ratio: float) -> tuple[np.ndarray, np.ndarray]:
    """Return x and y, (n, 12) each, of the curves at z, which is relative to the reference."""
    a, b, c, d, e = (column[:, None] for column in curve.T)
    return a + b * z + c * z**2 * (1 + cubic_ratio * z), d + e * z


def slope_at(curves: np.ndarray, z: float, cubic_ratio: float) -> np.ndarray:
    """Slope dx/dz (n,) of curves (n, 5) at z in mm, relative to the reference."""
    return curves[:, 1] + curves[:, 2] * z * (2 + 3 * cubic_ratio * z)


def enough(collected: np.ndarray, fewest: int) -> np.ndarray:
    """Whether hits (n, 12), -1 for none, are in at least `fewest` layers and determine a curve, (n,)."""
    used = collected >= 0
    determined = ((used & ~STEREO).sum(1) >= _FEWEST_X) & ((used & STEREO).sum(1) >= _FEWEST_STEREO)
    return determined & (used.sum(1) >= fewest)


def _mean(values: np.ndarray, used: np.ndarray) -> np.ndarray:
    return _sum(np.where(used, values, 0.0)) / used.sum(0)


def _sum(values: np.ndarray) -> np.ndarray:
    """Sum over layers one after the other, so that the result for a track does not depend on other tracks."""
    return reduce(np.add, values)


def _fit_line(z: np.ndarray, y: np.ndarray, used: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fit y = d + e·z to the layers used, by least squares; return d, e (n,). All arrays are (layers, n)."""
    z_mean, y_mean = _mean(z, used), _mean(y, used)
    dz = np.where(used, z - z_mean, 0.0)
    e = _sum(dz * y) / _sum(dz * dz)
    return y_mean - e * z_mean, e


def _fit_bend(z: np.ndarray, cubic: np.ndarray, x: np.ndarray, used: np.ndarray) -> tuple[np.ndarray, ...]:
    """Fit x = a + b·z + c·cubic to the layers used, by least squares; return a, b, c (n,).

    All arrays are (layers, n).
    """
    z_mean, cubic_mean, x_mean = (_mean(values, used) for values in (z, cubic, x))
    dz, dq = np.where(used, z - z_mean, 0.0), np.where(used, cubic - cubic_mean, 0.0)
    # Keep the part of the cubic term that is orthogonal to the slope.
    zz = _sum(dz * dz)
    share = _sum(dz * dq) / zz
    dq = dq - share * dz
    dx = np.where(used, x - x_mean, 0.0)
    c = _sum(dq * dx) / _sum(dq * dq)
    b = _sum(dz * dx) / zz - share * c
    return x_mean - b * z_mean - c * cubic_mean, b, c
