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

NAMES = ("z0", "z1", "txe", "tye", "xe", "ye", "tx1", "ty1", "x1", "y1")
"""Columns that are compared with the other rows."""

SAMPLE = 1000
"""Largest number of rows of a set that the comparison is learnt from."""

_FEWEST = 60  # rows; fewer say nothing
_FOR_SQUARES = 300  # rows; fewer determine only the linear terms
_Z_WIDTHS = 20.0  # of z0 and z1 about their planes
# mm, by which alignments may move the planes of z0 and z1 besides; in the VELO, rows have many planes.
_Z_LEAST = dict.fromkeys(("V", "BEAM"), (np.inf, np.inf)) | {"VUT": (np.inf, 5.0)}
# Multiples of the width about the smooth function; far from the middle of the inputs, it is less known.
# Positions agree much better with the own slopes than with those of other rows.
_BEND_WIDTHS = {"T": np.array([30.0, 100.0, 300.0, 300.0])}
_BEND_WIDTHS_ELSEWHERE = np.array([30.0, 100.0, 50.0, 50.0])
# Share of the usual bend, for soft tracks; in y at least a tenth of that of x.
_BEND_SHARE = np.array([0.2, 0.2, 0.05, 0.05])
_FURTHEST = 10.0  # times the distance of nearly all rows, a row is no more a row of the set
_HARD_WIDTHS = 10.0  # multiples of the width of the hardest tracks, which is the rounding of the numbers
_LEAST = np.array([1e-6, 1e-6, 2e-3, 2e-3])  # slopes and mm, tolerance of Runge-Kutta
# Multiples of the width of the scattering: hadrons scatter up to 200 widths off nuclei.
_TRUTH_WIDTHS = 1000.0
_TRUTH_LEAST = np.array([1e-3, 1e-3, 0.1, 0.1])


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
    bend: Floats  # (k, 4) coefficients for tx, ty, x, y
    lens: Floats  # (2,) what a bend beyond the expected one adds to x and y, over the length
    slack: Floats  # (4,) tolerance of the bend in the middle of the inputs, in units of the bend
    usual: Floats  # (4,) the same everywhere
    hard: Floats  # (4,) tolerance in mm and slopes
    furthest: float  # where the tolerance of the bend ends to grow
    truth: Floats  # (4,) largest distance of truth times p, over the length for positions

    @classmethod
    def of(cls, rows: Rows, step: str) -> Self | None:
        """Learn from rows of one set of a step; None if they are too few."""
        count = len(rows["z0"])
        if count < _FEWEST:
            return None
        flat = np.column_stack([np.ones(count), _stack(rows, "x0", "y0")])
        planes, off = _smooth(flat, _stack(rows, "z0", "z1"))
        inputs, (measured, lever) = _inputs(rows), _bend(rows)
        middle = np.median(inputs, axis=1)
        width = np.quantile(np.abs(inputs - middle[:, None]), 0.8, axis=1)
        width[width < 1e-6 * (1.0 + np.abs(middle))] = np.inf  # one value, such as the z of a plane
        squares = count >= _FOR_SQUARES
        terms, far = _terms((inputs - middle[:, None]) / width[:, None], squares)
        bend, rest = _smooth(terms.T, measured / lever[:, None])
        usual = _q68(measured / lever[:, None])
        lens = np.array([_ratio(rest[:, i], rest[:, i + 2]) for i in (0, 1)])
        rest[:, 2:] -= lens * rest[:, :2]
        hardest = np.argsort(np.abs(lever))[: max(20, count // 4)]
        length = _lengths(rows)
        truth = (_stack(rows, *NAMES[6:]) - _stack(rows, *NAMES[2:6])) * rows["p_true"][:, None] / length
        return cls(
            planes=planes,
            off_plane=_Z_WIDTHS * _q68(off) + np.array(_Z_LEAST.get(step, (5.0, 5.0))),
            middle=middle,
            width=width,
            squares=squares,
            bend=bend,
            lens=lens,
            slack=_BEND_WIDTHS.get(step, _BEND_WIDTHS_ELSEWHERE) * _q68(rest / far[:, None]),
            usual=_BEND_SHARE * np.maximum(usual, 0.1 * usual[[0, 0, 2, 2]]),
            hard=_HARD_WIDTHS * _q68((rest * lever[:, None])[hardest] * _lengths(rows)[hardest]) + _LEAST,
            furthest=_FURTHEST * float(np.quantile(far, 0.98)),
            truth=_TRUTH_WIDTHS * _q68(truth),
        )

    def expected(self, rows: Rows) -> tuple[Floats, Floats]:
        """Return what columns `NAMES` should be, and the largest deviation, (10, n) each."""
        count = len(rows["z0"])
        values, allowed = np.empty((10, count)), np.empty((10, count))
        dz, far, bend = rows["z1"] - rows["z0"], *self._bent(rows)
        length, lever = np.abs(dz), _lever(rows)
        size = np.abs(lever)
        over_p = 1.0 / np.asarray(rows["p_true"])
        for i in range(2):
            begin, by_x, by_y = self.planes[:, i]
            values[i] = begin + by_x * rows["x0"] + by_y * rows["y0"]
            allowed[i] = self.off_plane[i]
        for i, name in enumerate(("tx", "ty", "x", "y")):
            values[2 + i] = lever * bend[i]
            allowed[2 + i] = size * (self.slack[i] * far + self.usual[i])
            allowed[6 + i] = self.truth[i] * over_p
            if i > 1:
                slope = f"t{name}"
                values[2 + i] += self.lens[i - 2] * (rows[f"{slope}e"] - values[i])
                values[2 + i] *= length
                values[2 + i] += rows[f"{slope}0"] * dz
                allowed[2 + i :: 4] *= length
            values[2 + i] += rows[f"{name}0"]
            allowed[2 + i] += self.hard[i]
            allowed[6 + i] += _TRUTH_LEAST[i]
            values[6 + i] = rows[f"{name}e"]
        return values, allowed

    def _bent(self, rows: Rows) -> tuple[Floats, Floats]:
        """Return how far from the middle rows are, (n,), and their bend over the lever, (4, n)."""
        u = (_inputs(rows) - self.middle[:, None]) / self.width[:, None]
        # Single precision is enough for the bend, and takes half the time.
        terms, far = _terms(u.astype(np.float32), self.squares)
        return np.minimum(far, self.furthest), self.bend.T.astype(np.float32) @ terms


def _inputs(rows: Rows) -> Floats:
    """Numbers that the bend depends on, (7, n)."""
    h = 1e3 * rows["polarity"] * rows["qop"]
    states = [rows[f"{name}0"] for name in ("x", "y", "tx", "ty")]
    return np.stack([*states, h, rows["z0"], rows["z1"] - rows["z0"]])


def _lever(rows: Rows) -> Floats:
    """q/p in the field's sense times the length, (n,), which a bend is proportional to."""
    return np.asarray(1e3 * rows["polarity"] * rows["qop"] * (rows["z1"] - rows["z0"]))


def _lengths(rows: Rows) -> Floats:
    """One for slopes, and the length of the step for positions, (n, 4)."""
    length = np.abs(rows["z1"] - rows["z0"])
    return np.column_stack([np.ones((len(length), 2)), length, length])


def _straight(rows: Rows) -> Floats:
    """Slopes and places tx, ty, x, y at z1 without a field, (n, 4)."""
    states = _stack(rows, "tx0", "ty0", "x0", "y0")
    states[:, 2:] += states[:, :2] * (rows["z1"] - rows["z0"])[:, None]
    return states


def _bend(rows: Rows) -> tuple[Floats, Floats]:
    """Return what Runge-Kutta adds to the straight line, over the length for positions, and the lever."""
    return (_stack(rows, *NAMES[2:6]) - _straight(rows)) / _lengths(rows), _lever(rows)


def _terms(u: NDArray[Any], squares: bool) -> tuple[NDArray[Any], NDArray[Any]]:
    """Polynomial (k, n) of inputs (7, n) in units of their widths, and the distance from the middle, (n,)."""
    terms = np.empty((36 if squares else 8, u.shape[1]), u.dtype)
    terms[0], terms[1:8] = 1.0, u
    if squares:
        for number, (i, j) in enumerate(combinations_with_replacement(range(7), 2)):
            np.multiply(u[i], u[j], out=terms[8 + number])
    far = 1.0 + np.einsum("in,in->n", u, u)
    return terms, far * np.sqrt(far)


def _ratio(x: Floats, y: Floats) -> float:
    """Slope of y over x through zero, without outliers."""
    near = np.abs(x) <= 20.0 * _q68(x)
    for _ in range(3):
        size = float((x[near] ** 2).sum())
        found = float((x * y)[near].sum()) / size if size > 0.0 else 0.0
        off = y - found * x
        near = np.abs(off) <= 10.0 * _q68(off)
    return found


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
