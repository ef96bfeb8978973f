"""The magnet table's form in NumPy: header, grid with six-point interpolation, and polynomials.

Formulas, orders and degrees come from :mod:`parkf.model.steps.magnet`, as in the kernel. Only the choice of
the six bins is implemented again here; ``tests/training`` compares it with the kernel's choice.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from parkf.io.errors import ParkfError
from parkf.model.codegen.numpy_step import numpy_function
from parkf.model.layout import BINS, HEADER
from parkf.model.steps import magnet
from parkf.model.steps.magnet import TableForm, table_form
from parkf.model.steps.symbols import STATE, h

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]

BINS_X, BINS_Y = BINS
# The central one of the six bins must have neighbours on all sides. For a state in a border bin, the centre
# is therefore the next bin inside.
LARGEST_OFFSET = 1.5
# Numbers of a header that do not depend on the field: f is 1 at p_min (MeV), u is 1 at dtxy, xf_max is in mm.
FIXED = {"p_min": 1500.0, "dtxy": 0.005, "xf_max": 3000.0}


@dataclass(frozen=True, eq=False)
class Header:
    """The 19 numbers of a table's header, in the order of :data:`parkf.model.layout.HEADER`, and its form.

    Lengths are in mm. The bends are the slopes gained before z_in, divided by h; they are in MeV.
    """

    numbers: F64  # (19,)
    form: TableForm  # the meaning of the coefficients behind the header

    @classmethod
    def of(cls, numbers: NDArray[Any]) -> "Header":
        """Recognise a header; raise a ParkfError if no known form has its bins, grid and degrees."""
        form = table_form(dict(zip(HEADER, numbers.tolist(), strict=True)))
        if form is None:
            raise ParkfError(
                "magnet table: block UTT_META: bins, grid and degrees "
                f"{[f'{number:g}' for number in numbers[HEADER.index('nbin_x') :]]} are of no known forms"
            )
        return cls(numbers.astype(np.float64), form)

    def __getitem__(self, name: str) -> float:
        return float(self.numbers[HEADER.index(name)])

    @property
    def bends(self) -> dict[str, float]:
        """The bends by name, as :func:`bend_before` returns them."""
        return {name: self[name] for terms in _bend_terms for name in terms}


_header_symbols = sp.symbols(" ".join(HEADER), real=True)
_deviations = numpy_function([_header_symbols, *STATE, h], [magnet.U_X, magnet.U_Y, magnet.F], cse=True)
_NEIGHBOURS = np.array(list(magnet.WEIGHTS))
# In each plane, the bend before z_in is a sum of terms. Each term multiplies a number of the header.
_bend_terms = [
    {
        str(number): numpy_function([magnet.X, magnet.Y], sp.diff(bend, number))
        for number in sorted(bend.free_symbols - {magnet.X, magnet.Y}, key=str)
    }
    for bend in (magnet.BEND_X, magnet.BEND_Y)
]


@cache
def _functions(form: TableForm) -> tuple[Callable[..., Any], Callable[..., Any]]:
    place = numpy_function([_header_symbols, *STATE], form.place, cse=True)
    summed = numpy_function([*STATE], form.summed, cse=True)
    return place, summed


def deviations(header: Header, states: F64, qop: F64) -> tuple[F64, F64, F64]:
    """Return u_x, u_y and f, each (n,), of states (n, 4) at z_in with h = pol·q/p (n,) in 1/MeV."""
    u_x, u_y, f = _deviations(header.numbers, *states.T, qop)
    return u_x, u_y, f


def bend_before(states: F64, qop: F64, z_in: float) -> dict[str, float]:
    """Fit the slopes that tracks from the origin have gained before z_in, by least squares.

    States (n, 4) are x, y in mm and tx, ty at z_in; `qop` (n,) is h = pol·q/p in 1/MeV. Return the
    header's bendx, bendx_x2, bendx_y2 and bendy_xy, in MeV.
    """
    place = states[:, :2] / z_in
    # The gain is not divided by h, because a vertex away from the origin adds the same slope at any momentum.
    gained = states[:, 2:] - place
    bends: dict[str, float] = {}
    for column, terms in enumerate(_bend_terms):
        basis = np.stack([qop * term(*place.T) for term in terms.values()], axis=1)
        solution = np.linalg.lstsq(basis, gained[:, column], rcond=None)[0]
        bends |= dict(zip(terms, solution.tolist(), strict=True))
    return bends


def slopes_gained(bends: Mapping[str, float], place: F64) -> F64:
    """Return the slopes that tracks gain before z_in, divided by h: (n, 2), MeV.

    `place` (n, 2) is x and y of the tracks, divided by z_in.
    """
    gained = [sum(bends[name] * term(*place.T) for name, term in terms.items()) for terms in _bend_terms]
    return np.stack(gained, axis=1)


def make_header(form: TableForm, z_in: float, z_out: float, bends: Mapping[str, float]) -> Header:
    """Put a header together; `bends` is a result of :func:`bend_before`."""
    edges = {"tx_max": form.edges[0], "ty_max": form.edges[1]}
    values = {"z_in": z_in, "z_out": z_out, **FIXED, **bends, **edges, **form.signature}
    return Header(np.array([values[name] for name in HEADER], dtype=np.float64), form)


def places(header: Header, states: F64) -> tuple[F64, F64]:
    """Return the positions on the grid of states (n, 4) at z_in: from −1 to 1 in x and y, (n,) each."""
    x, y = _functions(header.form)[0](header.numbers, *states.T)
    return x, y


def summed_slopes(form: TableForm, states: F64) -> F64:
    """Return the slopes or sines (n, 2) of states (n, 4), depending on where the form adds the bend."""
    return np.stack(_functions(form)[1](*states.T), axis=1)


def inside_grid(header: NDArray[Any], states: F64) -> NDArray[np.bool_]:
    """Whether states (n, 4) at z_in lie inside the grid of a header (19,); (n,)."""
    x, y = places(Header.of(header), states)
    return np.asarray((np.abs(x) < 1) & (np.abs(y) < 1))


def stencil(header: Header, states: F64) -> tuple[I64, I64, F64]:
    """Return the cells (n,) of states (n, 4) at z_in, their six bins (n, 6), and their offsets (n, 2).

    States of one cell have the same six bins. In bin numbers y runs fastest. Offsets are the variables of the
    weights: distances from the centre of the nearest bin, in units of bins, mirrored to be positive.
    """
    x, y = places(header, states)
    (i, a), (j, b) = _axis(x, BINS_X), _axis(y, BINS_Y)
    side_i, side_j = np.where(a < 0, -1, 1), np.where(b < 0, -1, 1)
    columns = i[:, None] + side_i[:, None] * _NEIGHBOURS[:, 0]
    bins = columns * BINS_Y + j[:, None] + side_j[:, None] * _NEIGHBOURS[:, 1]
    cell = 4 * (i * BINS_Y + j) + (side_i > 0) + 2 * (side_j > 0)
    # The formula holds for positive offsets, so the others are mirrored.
    return cell, bins, np.abs(np.stack([a, b], axis=1))


def _axis(position: F64, bins: int) -> tuple[I64, F64]:
    """Central bin and the offset from its centre in bins."""
    place = 0.5 * (position + 1.0) * bins
    centre = np.clip(np.floor(place).astype(np.int64), 1, bins - 2)
    return centre, np.clip(place - centre - 0.5, -LARGEST_OFFSET, LARGEST_OFFSET)


def polynomials(form: TableForm, component: str) -> dict[str, slice]:
    """Return where in a bin each polynomial of a component lies, by its factor, in the order 1, u_x, u_y."""
    found, position = {}, 0
    for piece in form.pieces:
        if piece.component == component:
            found[piece.factor] = slice(position, position + piece.degree)
        position += piece.degree
    return {factor: found[factor] for factor in ("1", "u_x", "u_y")}
