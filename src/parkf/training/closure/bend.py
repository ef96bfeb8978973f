"""Fit of a change of the table's bend of tx, as polynomials in position and momentum, to fitted tracks."""

import numpy as np
from numpy.polynomial import chebyshev, legendre

from parkf.model.layout import BINS
from parkf.training.magnet_table import MagnetTable
from parkf.training.magnet_table.form import F64, Header, places, polynomials
from parkf.training.magnet_table.solve import monomials

# Highest order in X and Y together, and the orders of each term. Odd orders are included, because a
# detector need not be symmetric.
ORDER = 6
ORDERS = [(i, j) for i in range(ORDER + 1) for j in range(ORDER + 1 - i)]
# Prior of the change: zero with a standard deviation of this fraction of the bend, everywhere on the grid and
# at any momentum, with the weight of this many tracks. Where there are no tracks, the prior keeps the
# polynomials from growing from pass to pass.
BELIEF, BELIEVERS = 0.01, 20_000


def add_change(table: MagnetTable, coefficients: F64) -> MagnetTable:
    """Return the table with a change of its central polynomials of tx, of :meth:`ChangeFit.solve`."""
    x, y = ((2 * np.arange(bins) + 1) / bins - 1 for bins in BINS)
    by_bin = _places(*(grid.ravel() for grid in np.meshgrid(x, y, indexing="ij")))
    changed = table.coefficients.astype(np.float64)
    changed[:, :, polynomials(table.form, "tx")["1"]] += monomials(by_bin @ coefficients).reshape(*BINS, -1)
    return MagnetTable(table.header, changed.astype(np.float32))


class ChangeFit:
    """Sums the normal equations of a change over tracks; memory does not grow with their number."""

    def __init__(self, header: Header) -> None:
        self._header = header
        place = polynomials(header.form, "tx")["1"]
        self._degree = place.stop - place.start
        count = len(ORDERS) * self._degree
        self._normal, self._right = np.zeros((count, count)), np.zeros(count)

    def basis(self, states: F64, qop: F64, bend: F64) -> F64:
        """Relative change of the bend per unit of each coefficient, (n, terms·degree).

        States (n, 4) are at z_in, `qop` (n,) is h there in 1/MeV, and `bend` (n,) is the increase of tx
        by the table now.
        """
        f = qop * self._header["p_min"]
        by_place = _places(*(np.clip(place, -1, 1) for place in places(self._header, states)))
        by_momentum = f[:, None] * chebyshev.chebvander(f, self._degree - 1) / bend[:, None]
        return np.asarray((by_place[:, :, None] * by_momentum[:, None, :]).reshape(len(f), -1))

    def add(self, basis: F64, wanted: F64, weight: F64) -> None:
        """Add tracks: `wanted` relative increase of the bend (n,), and weights 1/σ² (n,)."""
        # The product of a matrix with itself takes half the multiplications of another product.
        root = np.sqrt(weight)
        weighted = basis * root[:, None]
        self._normal += weighted.T @ weighted
        self._right += weighted.T @ (wanted * root)

    def solve(self, belief: F64) -> F64:
        """Solve for the change: its coefficients (terms, degree).

        They multiply Legendre polynomials in X and Y, in the order of :data:`ORDERS`, times f·T_n(f). The
        prior holds at the points of `belief` (n, terms·degree): :meth:`basis` of states spread evenly
        over the grid and over momenta.
        """
        normal = self._normal + belief.T @ belief * (BELIEVERS / len(belief) / BELIEF**2)
        scale = 1 / np.sqrt(np.diag(normal))
        covariance = scale[:, None] * np.linalg.inv(normal * np.outer(scale, scale)) * scale
        return np.asarray((covariance @ self._right).reshape(-1, self._degree))


def _places(x: F64, y: F64) -> F64:
    """Legendre polynomials of a place, (n, terms)."""
    by_x, by_y = legendre.legvander(x, ORDER), legendre.legvander(y, ORDER)
    return np.stack([by_x[:, i] * by_y[:, j] for i, j in ORDERS], axis=1)
