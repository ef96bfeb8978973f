r"""The robust density of all fits: a normal core with a wider normal tail of the same centre.

With the squared distance q and the log of the core's normalisation, the density of d dimensions is

.. math:: (1 - ε)\,N(q) + ε\,N(q/K^2)/K^d .

Decays, hard scatters and large energy losses land in the tail and do not steer the core.
"""

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]


def mixture(
    q: F64, log_volume: F64, dimensions: int, fraction: float, width: float
) -> tuple[F64, F64, F64, F64]:
    """Negative log of the density, and its derivatives.

    Parameters
    ----------
    q : (n,) float64
        Squared distances in units of the core.
    log_volume : (n,) float64
        Log of the product of the core's widths (square root of the determinant of its covariance).
    dimensions : int
        d: 1 for one component, 2 for position and slope.
    fraction, width : float
        ε and K of the tail.

    Returns
    -------
    nll, d_q, d_fraction, d_width : (n,) float64
        nll, and its derivatives with respect to q, ε and K; that with respect to log_volume is one.
    """
    log_core = np.log1p(-fraction) - 0.5 * q
    log_tail = np.log(fraction) - dimensions * np.log(width) - 0.5 * q / width**2
    log_sum = np.logaddexp(log_core, log_tail)
    core, tail = np.exp(log_core - log_sum), np.exp(log_tail - log_sum)
    nll = log_volume + 0.5 * dimensions * np.log(2 * np.pi) - log_sum
    d_q = 0.5 * (core + tail / width**2)
    d_fraction = core / (1 - fraction) - tail / fraction
    d_width = tail * (dimensions / width - q / width**3)
    return nll, d_q, d_fraction, d_width
