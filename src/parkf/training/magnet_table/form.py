"""The magnet table's form in NumPy: header, grid with six-point interpolation, and what is linear in it.

Formulas, orders and degrees come from :mod:`parkf.steps.magnet`, as the kernel's do; only the choice of the
six bins is written here again, and ``tests/training`` holds it against the kernel's.
"""

from dataclasses import asdict, dataclass

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from parkf.steps import magnet
from parkf.steps.symbols import STATE, h

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

BINS_X, BINS_Y = magnet.BINS
# The six bins surround one that has neighbours on all sides: at the border, the next one inside.
LARGEST_OFFSET = 1.5


@dataclass(frozen=True)
class Header:
    """The 19 numbers of the table's header, by their names in :data:`parkf.steps.magnet.HEADER`.

    Lengths are in mm; the bends, slopes gained before z_in per h, in MeV.
    """

    z_in: float
    z_out: float
    bendx: float
    bendx_x2: float
    bendx_y2: float
    bendy_xy: float
    p_min: float = 1500.0
    tx_max: float = 0.30
    ty_max: float = 0.25
    xf_max: float = 3000.0
    dtxy: float = 0.005
    nbin_x: int = BINS_X
    nbin_y: int = BINS_Y
    x_grid: int = 1
    y_grid: int = 1
    deg_x1: int = magnet.DEGREES[0]
    deg_x2: int = magnet.DEGREES[1]
    deg_y1: int = magnet.DEGREES[2]
    deg_y2: int = magnet.DEGREES[3]

    def numbers(self) -> F64:
        """Return the (19,) numbers in the order of the constant blob."""
        values = asdict(self)
        return np.array([values[name] for name in magnet.HEADER], dtype=np.float64)


_header_symbols = sp.symbols(" ".join(magnet.HEADER), real=True)
_deviations = sp.lambdify([_header_symbols, *STATE, h], [magnet.U_X, magnet.U_Y, magnet.F], "numpy", cse=True)
_weights = sp.lambdify([magnet.a, magnet.b], list(magnet.WEIGHTS.values()), "numpy", cse=True)
_NEIGHBOURS = np.array(list(magnet.WEIGHTS))


def deviations(header: Header, states: F64, qop: F64) -> tuple[F64, F64, F64]:
    """Return u_x, u_y and f, each (n,), of states (n, 4) at z_in with h = pol·q/p (n,) in 1/MeV."""
    u_x, u_y, f = _deviations(header.numbers(), *states.T, qop)
    return u_x, u_y, f


def fit_header(states: F64, qop: F64, z_in: float, z_out: float) -> Header:
    """Least squares of the slopes that tracks from the origin have gained before z_in.

    Parameters
    ----------
    states : (n, 4) float64
        x, y in mm and tx, ty of tracks at z_in.
    qop : (n,) float64
        h = pol·q/p in 1/MeV.
    """
    x, y = states[:, 0] / z_in, states[:, 1] / z_in
    # Divided by h: the scattering that blurs the slopes is proportional to it.
    basis = np.stack([np.ones_like(x), x**2, y**2], axis=1)
    bendx = np.linalg.lstsq(basis, (states[:, 2] - x) / qop, rcond=None)[0]
    bendy = float(x * y @ ((states[:, 3] - y) / qop) / np.sum((x * y) ** 2))
    return Header(z_in, z_out, float(bendx[0]), float(bendx[1]), float(bendx[2]), bendy)


def inside_grid(header: NDArray, states: F64) -> NDArray[np.bool_]:
    """Whether states (n, 4) at z_in lie inside the grid of a header (19,); (n,)."""
    z_in, tx_max, ty_max = (float(header[magnet.HEADER.index(name)]) for name in ("z_in", "tx_max", "ty_max"))
    return np.all(np.abs(states[:, :2]) < [z_in * tx_max, z_in * ty_max], axis=1)


def stencil(header: Header, states: F64) -> tuple[I64, I64, F64]:
    """Six bins and their weights.

    Parameters
    ----------
    states : (n, 4) float64
        States at z_in; only x and y are used.

    Returns
    -------
    cell : (n,) int64
        States of one cell share their six bins.
    bins : (n, 6) int64
        Bin numbers, bins in y innermost.
    weights : (n, 6) float64
        They sum to one.
    """
    i, a = _axis(states[:, 0] / (header.z_in * header.tx_max), BINS_X)
    j, b = _axis(states[:, 1] / (header.z_in * header.ty_max), BINS_Y)
    side_i, side_j = np.where(a < 0, -1, 1), np.where(b < 0, -1, 1)
    # Mirrored into the quadrant of the offset, where the formula holds.
    weights = np.stack(_weights(np.abs(a), np.abs(b)), axis=1)
    columns = i[:, None] + side_i[:, None] * _NEIGHBOURS[:, 0]
    bins = columns * BINS_Y + j[:, None] + side_j[:, None] * _NEIGHBOURS[:, 1]
    return 4 * (i * BINS_Y + j) + (side_i > 0) + 2 * (side_j > 0), bins, weights


def _axis(position: F64, bins: int) -> tuple[I64, F64]:
    """Central bin and the offset from its centre in bins."""
    place = 0.5 * (position + 1.0) * bins
    centre = np.clip(np.floor(place).astype(np.int64), 1, bins - 2)
    return centre, np.clip(place - centre - 0.5, -LARGEST_OFFSET, LARGEST_OFFSET)


def polynomials(component: str) -> list[tuple[str, slice]]:
    """Factor (1, u_x, u_y) and place in a bin of each polynomial of a component, in that order of factors."""
    found, position = {}, 0
    for piece in magnet.PIECES:
        if piece.component == component:
            found[piece.factor] = slice(position, position + piece.degree)
        position += piece.degree
    return [(factor, found[factor]) for factor in ("1", "u_x", "u_y")]
