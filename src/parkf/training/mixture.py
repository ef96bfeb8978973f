r"""The density of the fits of scattering: a normal core with a wide tail of the same centre.

With q the squared distance in units of the core, the density of position and slope is

.. math:: (1 - ε)\,N_2(q) + ε\,t_2(q/K^2)/K^2

with Student's t of two degrees of freedom, which falls off as single scattering does. Hard scatters, decays
and large energy losses land in the tail and do not steer the core; the farther out, the less they count.
"""

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]


def mixture(q: F64, log_volume: F64, fraction: float, width: float) -> tuple[F64, F64, F64]:
    """Negative log of the density, and its derivatives.

    Parameters
    ----------
    q : (n,) float64
        Squared distances in units of the core.
    log_volume : (n,) float64
        Log of the product of the core's widths (square root of the determinant of its covariance).
    fraction, width : float
        ε and K of the tail.

    Returns
    -------
    nll, d_q, d_fraction : (n,) float64
        nll, and its derivatives with respect to q and ε; that with respect to log_volume is one.
    """
    near = 2 * width**2 / (2 * width**2 + q)
    core = np.exp(-0.5 * q)
    tail = (near / width) ** 2
    density = (1 - fraction) * core + fraction * tail
    nll = log_volume + np.log(2 * np.pi) - np.log(density)
    d_q = (0.5 * (1 - fraction) * core + fraction / width**2 * tail * near) / density
    return nll, d_q, (core - tail) / density
