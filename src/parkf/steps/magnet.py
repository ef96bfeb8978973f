"""The hop through the magnet: header, interpolation between bins and polynomials of the 240,000 numbers.

Every component goes straight to z_out, plus c00(f) + u_x·c10(f) + u_y·c01(f), polynomials in f without a
constant: a track of infinite momentum goes straight. The coefficients depend on (x, y)/z_in by bins.
"""

from dataclasses import dataclass

import sympy as sp

from parkf.steps.symbols import h, tx, ty, x, y

HEADER = (
    "z_in",
    "z_out",
    "p_min",
    "bendx",
    "bendx_x2",
    "bendx_y2",
    "bendy_xy",
    "tx_max",
    "ty_max",
    "xf_max",
    "dtxy",
    "nbin_x",
    "nbin_y",
    "x_grid",
    "y_grid",
    "deg_x1",
    "deg_x2",
    "deg_y1",
    "deg_y2",
)
HEADER_TEXT = (
    "z where the hop begins, mm",
    "z where it ends, mm",
    "momentum at which f = 1, MeV",
    "mean kick in x, MeV",
    "its change with X², MeV",
    "its change with Y², MeV",
    "kick in y with XY, MeV",
    "edge of the bins in x/z_in",
    "edge of the bins in y/z_in",
    "edge of the tracks trained on at z_out, mm",
    "slope that makes u = 1",
    "bins in x",
    "bins in y",
    "kind of grid in x (1: uniform)",
    "kind of grid in y (1: uniform)",
    "degree of the u terms of x and tx",
    "degree of the central term of x and tx",
    "degree of the u terms of y and ty",
    "degree of the central term of y and ty",
)
BINS = (60, 50)
DEGREES = (7, 9, 5, 7)


@dataclass(frozen=True)
class Piece:
    """Coefficients of f, f², …, f^degree in a bin: of `component`, multiplied by `factor` (1, u_x or u_y)."""

    component: str
    factor: str
    degree: int


# The order in a bin.
PIECES = (
    Piece("x", "1", 9),
    Piece("tx", "1", 9),
    Piece("x", "u_x", 7),
    Piece("x", "u_y", 7),
    Piece("tx", "u_x", 7),
    Piece("tx", "u_y", 7),
    Piece("y", "1", 7),
    Piece("ty", "1", 7),
    Piece("y", "u_x", 5),
    Piece("y", "u_y", 5),
    Piece("ty", "u_x", 5),
    Piece("ty", "u_y", 5),
)
COEFFICIENTS = sum(piece.degree for piece in PIECES)

_header = dict(zip(HEADER, sp.symbols(" ".join(HEADER), real=True), strict=True))
_X, _Y = x / _header["z_in"], y / _header["z_in"]
U_X = (
    tx - _X - (_header["bendx"] + _header["bendx_x2"] * _X**2 + _header["bendx_y2"] * _Y**2) * h
) / _header["dtxy"]
U_Y = (ty - _Y - _header["bendy_xy"] * _X * _Y * h) / _header["dtxy"]
F = h * _header["p_min"]

# Six-point formula, Abramowitz & Stegun 25.2.67: offsets (a, b) in bins from the nearest centre, both ≥ 0
# after mirroring; neighbours (i, j) in the direction of the offset, and their weights.
a, b = sp.symbols("a b", real=True)
WEIGHTS = {
    (0, 0): 1 + a * b - a**2 - b**2,
    (1, 0): a * (a - 2 * b + 1) / 2,
    (0, 1): b * (b - 2 * a + 1) / 2,
    (-1, 0): a * (a - 1) / 2,
    (0, -1): b * (b - 1) / 2,
    (1, 1): a * b,
}
