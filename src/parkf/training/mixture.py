r"""The robust density of all fits: a normal core with a wide tail of the same centre.

With q the squared distance in units of the core, the density in d dimensions is

.. math:: (1 - ε)\,N_d(q) + ε\,t_d(q/K^2)/K^d

with Student's t of two degrees of freedom, which falls off as single scattering does. Hard scatters, decays
and large energy losses land in the tail and do not steer the core; the farther out, the less they count.
"""

from math import lgamma

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]


def mixture(q: F64, log_volume: F64, dimensions: int, fraction: float, width: float) -> tuple[F64, F64, F64]:
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
    nll, d_q, d_fraction : (n,) float64
        nll, and its derivatives with respect to q and ε; that with respect to log_volume is one.
    """
    power = 1 + 0.5 * dimensions
    spread = 2 * width**2 + q
    log_core = np.log1p(-fraction) - 0.5 * q
    log_tail = (
        np.log(fraction)
        + lgamma(power)
        - dimensions * np.log(width)
        - power * np.log(spread / (2 * width**2))
    )
    log_sum = np.logaddexp(log_core, log_tail)
    core, tail = np.exp(log_core - log_sum), np.exp(log_tail - log_sum)
    nll = log_volume + 0.5 * dimensions * np.log(2 * np.pi) - log_sum
    d_q = 0.5 * core + tail * power / spread
    d_fraction = core / (1 - fraction) - tail / fraction
    return nll, d_q, d_fraction
