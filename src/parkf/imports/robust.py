"""Numbers of samples with tails."""

import numpy as np
from numpy.typing import NDArray

_CUT = 4.0
_PASSES = 6
_OF_GAUSSIAN = 1.4826
_LEAST = 1e-3  # of a width; samples that agree better have no tails that need to be cut


def width68(values: NDArray[np.float64]) -> float:
    """68 % distance from zero: of a Gaussian about zero its σ."""
    return float(np.quantile(np.abs(values), 0.6827)) if len(values) else float("nan")


def coefficients(
    terms: NDArray[np.float64], residual: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Least squares of residual = terms · c, without what is further off than four widths.

    Parameters
    ----------
    terms : (n, k) float64
    residual : (n,) float64
        Both in units of the residual's expected error.

    Returns
    -------
    values, errors : (k,) float64
        Infinite errors of terms that are zero.
    """
    size = np.sqrt((terms**2).mean(axis=0))
    used = np.flatnonzero(size > 0.0)
    values, errors = np.zeros(terms.shape[1]), np.full(terms.shape[1], np.inf)
    unit = terms[:, used] / size[used]
    keep = np.ones(len(residual), bool)
    for _ in range(_PASSES):
        normal = unit[keep].T @ unit[keep]
        inverse = np.linalg.pinv(normal, rcond=1e-10, hermitian=True)
        found = inverse @ (unit[keep].T @ residual[keep])
        rest = residual - unit @ found
        spread = max(_OF_GAUSSIAN * float(np.median(np.abs(rest))), _LEAST)
        values[used] = found / size[used]
        errors[used] = spread * np.sqrt(np.maximum(np.diag(inverse), 0.0)) / size[used]
        keep = np.abs(rest) <= _CUT * spread
    return values, errors
