"""Divergence and curl of a field map, and their errors on a grid of its spacing."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parkf.detector.field import FieldMap


@dataclass(frozen=True)
class Maxwell:
    """68 % quantiles over nodes, T/m.

    Attributes
    ----------
    divergence, curl : float
        Of |∇·B| and |∇×B|.
    divergence_noise, curl_noise : float
        Of the error of the finite differences.
    gradient : float
        Of the largest of the nine derivatives, which divergence and curl are compared with.
    """

    divergence: float
    curl: float
    divergence_noise: float
    curl_noise: float
    gradient: float


def maxwell(field: FieldMap, inside: NDArray[np.bool_]) -> Maxwell | None:
    """Measure divergence and curl by central differences over one spacing.

    Differences over twice the spacing err four times as much, so a third of the distance between the two is
    the error of the first (Richardson). The nodes `inside` (nx, ny, nz) are used. The result is None where
    fewer than a hundred of them have two neighbours inside on each side.
    """
    if min(field.values.shape[:3]) < 5:
        return None
    centre = (slice(2, -2),) * 3
    usable = inside[centre].copy()
    for axis in range(3):
        for shift in (0, 4):
            usable &= inside[_shifted(axis, shift)]
    if usable.sum() < 100:
        return None
    values = field.values.astype(np.float64)
    near, far = np.empty((2, int(usable.sum()), 3, 3))
    for axis in range(3):
        metres = 1e-3 * field.spacing[axis]
        for difference, width in ((near, 1), (far, 2)):
            ahead, behind = values[_shifted(axis, 2 + width)], values[_shifted(axis, 2 - width)]
            difference[:, :, axis] = ((ahead - behind) / (2 * width * metres))[usable]
    return Maxwell(
        divergence=_most(_divergence(near)),
        curl=_most(_curl(near)),
        divergence_noise=_most(_divergence(near - far) / 3),
        curl_noise=_most(_curl(near - far) / 3),
        gradient=_most(np.abs(near).max(axis=(1, 2))),
    )


def _shifted(axis: int, begin: int) -> tuple[slice, ...]:
    """Cut two nodes off every side, moved along an axis: 2 is in the middle."""
    ends = [slice(2, -2)] * 3
    ends[axis] = slice(begin, begin - 4 or None)
    return tuple(ends)


def _divergence(gradient: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.abs(np.trace(gradient, axis1=1, axis2=2))


def _curl(gradient: NDArray[np.float64]) -> NDArray[np.float64]:
    turned = gradient - gradient.transpose(0, 2, 1)
    return np.sqrt(turned[:, 0, 1] ** 2 + turned[:, 0, 2] ** 2 + turned[:, 1, 2] ** 2)


def _most(values: NDArray[np.float64]) -> float:
    return float(np.quantile(values, 0.68))
