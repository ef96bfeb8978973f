"""What the other rows of a set say about a row: its planes, the end that Runge-Kutta reaches, the scattering.

A sample of each set shows where its rows begin and end in z, how far truth lies from Runge-Kutta's end, and
how states bend: the change of position and slope over q/p and the length of the step is a smooth function of
origin, direction and q/p. A row far off it was carried with another number than one of its own columns, with
or without a field map at hand.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = Mapping[str, NDArray[Any]]

NAMES = ("z0", "z1", "xe", "ye", "txe", "tye", "x1", "y1", "tx1", "ty1")
"""Columns that are compared with the other rows."""

SAMPLE = 1000
"""Largest number of rows of a set that the comparison is learnt from."""

_FEWEST = 60  # rows; fewer say nothing
_FOR_SQUARES = 300  # rows; fewer determine only the linear terms
_Z_WIDTHS, _Z_LEAST = 20.0, 5.0  # widths of z about its plane, and mm: alignments move planes by less
# Multiples of the width about the smooth function. Honest rows reach 10 in x and 85 in y, whose bend is small.
_BEND_WIDTHS = np.array([30.0, 200.0, 30.0, 200.0])
_BEND_SHARE = 0.2  # of the usual bend, for soft tracks; in y at least a tenth of that of x
_HARD_WIDTHS = 10.0  # multiples of the width of the hardest tracks, which is the rounding of the numbers
_LEAST = np.array([2e-3, 2e-3, 1e-6, 1e-6])  # mm and slopes, tolerance of Runge-Kutta
# Multiples of the width of the scattering: hadrons scatter up to 200 widths off nuclei.
_TRUTH_WIDTHS = 1000.0
_TRUTH_LEAST = np.array([0.1, 0.1, 1e-3, 1e-3])


def _q68(values: Floats) -> Any:
    return np.quantile(np.abs(values), 0.68, axis=0)


def _stack(rows: Rows, *names: str) -> Floats:
    return np.column_stack([np.asarray(rows[name], np.float64) for name in names])


@dataclass(frozen=True)
class Alike:
    """Planes, bend and scattering of the rows of one set."""

    planes: Floats  # (3, 2) coefficients of 1, x0, y0 for z0 and z1
    off_plane: Floats  # (2,) mm, largest distance from them
    middle: Floats  # (7,) of the inputs of the bend, and their width
    width: Floats
    squares: bool
    bend: Floats  # (k, 4) coefficients for x, y, tx, ty
    slack: Floats  # (4,) tolerance of the bend in the middle of the inputs, in units of the bend
    usual: Floats  # (4,) the same everywhere
    hard: Floats  # (4,) tolerance in mm and slopes
    truth: Floats  # (4,) largest distance of truth times p, over the length for positions

    @classmethod
    def of(cls, rows: Rows) -> Self | None:
        """Learn from rows of one set; None if they are too few."""
        count = len(rows["z0"])
        if count < _FEWEST:
            return None
        flat = np.column_stack([np.ones(count), _stack(rows, "x0", "y0")])
        planes, off = _smooth(flat, _stack(rows, "z0", "z1"))
        inputs, (measured, lever) = _inputs(rows), _bend(rows)
        middle = np.median(inputs, axis=0)
        width = np.quantile(np.abs(inputs - middle), 0.8, axis=0)
        width[width < 1e-6 * (1.0 + np.abs(middle))] = np.inf  # one value, such as the z of a plane
        squares = count >= _FOR_SQUARES
        terms, far = _terms((inputs - middle) / width, squares)
        bend, rest = _smooth(terms, measured / lever[:, None])
        usual = _q68(measured / lever[:, None])
        hardest = np.argsort(np.abs(lever))[: max(20, count // 4)]
        length = _lengths(rows)
        truth = (_stack(rows, *NAMES[6:]) - _stack(rows, *NAMES[2:6])) * rows["p_true"][:, None] / length
        return cls(
            planes=planes,
            off_plane=_Z_WIDTHS * _q68(off) + _Z_LEAST,
            middle=middle,
            width=width,
            squares=squares,
            bend=bend,
            slack=_BEND_WIDTHS * _q68(rest / far[:, None]),
            usual=_BEND_SHARE * np.maximum(usual, 0.1 * usual[[0, 0, 2, 2]]),
            hard=_HARD_WIDTHS * _q68((rest * lever[:, None])[hardest] * _lengths(rows)[hardest]) + _LEAST,
            truth=_TRUTH_WIDTHS * _q68(truth),
        )

    def expected(self, rows: Rows) -> tuple[Floats, Floats]:
        """Return what columns `NAMES` should be, and the largest deviation, (n, 10) each."""
        count = len(rows["z0"])
        values, allowed = np.empty((count, 10)), np.empty((count, 10))
        values[:, :2] = self.planes[0] + _stack(rows, "x0", "y0") @ self.planes[1:]
        allowed[:, :2] = self.off_plane
        terms, far = _terms((_inputs(rows) - self.middle) / self.width, self.squares)
        length, lever = _lengths(rows), _lever(rows)[:, None]
        values[:, 2:6] = _straight(rows) + (terms @ self.bend) * lever * length
        allowed[:, 2:6] = np.abs(lever) * length * (self.slack * far[:, None] + self.usual) + self.hard
        values[:, 6:] = _stack(rows, *NAMES[2:6])
        allowed[:, 6:] = self.truth * length / np.asarray(rows["p_true"])[:, None] + _TRUTH_LEAST
        return values, allowed


def _inputs(rows: Rows) -> Floats:
    h = 1e3 * rows["polarity"] * rows["qop"]
    return np.column_stack([_stack(rows, "x0", "y0", "tx0", "ty0"), h, rows["z0"], rows["z1"] - rows["z0"]])


def _lever(rows: Rows) -> Floats:
    """q/p in the field's sense times the length, (n,), which a bend is proportional to."""
    return np.asarray(1e3 * rows["polarity"] * rows["qop"] * (rows["z1"] - rows["z0"]))


def _lengths(rows: Rows) -> Floats:
    """Length of the step for positions, and one for slopes, (n, 4)."""
    length = np.abs(rows["z1"] - rows["z0"])
    return np.column_stack([length, length, np.ones((len(length), 2))])


def _straight(rows: Rows) -> Floats:
    """States x, y, tx, ty at z1 without a field, (n, 4)."""
    states = _stack(rows, "x0", "y0", "tx0", "ty0")
    states[:, :2] += states[:, 2:] * (rows["z1"] - rows["z0"])[:, None]
    return states


def _bend(rows: Rows) -> tuple[Floats, Floats]:
    """Return what Runge-Kutta adds to the straight line, over the length for positions, and the lever."""
    return (_stack(rows, *NAMES[2:6]) - _straight(rows)) / _lengths(rows), _lever(rows)


def _terms(u: Floats, squares: bool) -> tuple[Floats, Floats]:
    """Polynomial (n, k) of inputs in units of their widths, and how far from the middle they are, (n,)."""
    terms = np.empty((len(u), 36 if squares else 8), order="F")
    terms[:, 0], terms[:, 1:8] = 1.0, u
    if squares:
        for number, (i, j) in enumerate(combinations_with_replacement(range(7), 2)):
            np.multiply(terms[:, 1 + i], terms[:, 1 + j], out=terms[:, 8 + number])
    return terms, 1.0 + np.einsum("ni,ni->n", u, u)


def _smooth(terms: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Least squares of values (n, m) by terms (n, k), without outliers; return coefficients and the rest."""
    found = np.empty((terms.shape[1], values.shape[1]))
    for column, wanted in enumerate(values.T):
        off = wanted - np.median(wanted)
        keep = np.abs(off) <= 20.0 * _q68(off)
        for _ in range(4):
            part = terms[keep]
            inverse = np.linalg.pinv(part.T @ part, rcond=1e-12, hermitian=True)
            found[:, column] = inverse @ (part.T @ wanted[keep])
            off = wanted - terms @ found[:, column]
            keep = np.abs(off) <= 5.0 * _q68(off)
    return found, values - terms @ found
