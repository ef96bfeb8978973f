r"""The density of the fits of scattering: a normal core with a wide tail of the same centre.

With q the squared distance in units of the core, the density of one component (d = 1), or of position and
slope (d = 2), is

.. math:: (1 - ε)\,N_d(q) + ε\,t_d(q/K^2)/K^d

with Student's t of two degrees of freedom, which falls off as single scattering does. Hard scatters, decays
and large energy losses belong to the tail and hardly influence the core; their weight falls with their
distance.
"""

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]

# t_d over N_d at the centre, for K = 1.
_PEAK = {1: np.sqrt(np.pi) / 2, 2: 1.0}


def mixture(q: F64, log_volume: F64, fraction: float, width: float, dimension: int) -> tuple[F64, F64, F64]:
    """Negative log of the density, and its derivatives.

    Parameters
    ----------
    q : (n,) float64
        Squared distances in units of the core.
    log_volume : (n,) float64
        Log of the product of the core's widths (square root of the determinant of its covariance).
    fraction, width : float
        ε and K of the tail.
    dimension : {1, 2}
        d.

    Returns
    -------
    nll, d_q, d_fraction : (n,) float64
        nll, and its derivatives with respect to q and ε; that with respect to log_volume is one.
    """
    near = 2 * width**2 / (2 * width**2 + q)
    core = np.exp(-0.5 * q)
    tail = _PEAK[dimension] * near * np.sqrt(near) ** dimension / width**dimension
    density = (1 - fraction) * core + fraction * tail
    nll = log_volume + 0.5 * dimension * np.log(2 * np.pi) - np.log(density)
    slope = (2 + dimension) / (4 * width**2) * near
    d_q = (0.5 * (1 - fraction) * core + fraction * slope * tail) / density
    return nll, d_q, (core - tail) / density
