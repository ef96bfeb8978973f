"""The hop through the magnet: header, interpolation between bins and polynomials of the 240,000 numbers.

Every component is that of a straight line to z_out, plus c00(f) + u_x·c10(f) + u_y·c01(f). The c are
polynomials in f without a constant, because a track of infinite momentum goes straight. The coefficients
depend on the bin. Each set of forms has its own :class:`TableForm`, with 240,000 coefficients.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import sympy as sp

from parkf.model.layout.blocks import BINS, HEADER, TABLE_SHAPE, Piece
from parkf.model.steps.symbols import h, tx, ty, x, y

_header = dict(zip(HEADER, sp.symbols(" ".join(HEADER), real=True), strict=True))
_X, _Y = x / _header["z_in"], y / _header["z_in"]
# Slopes that tracks from the origin gain before z_in, divided by h: functions of X = x/z_in and Y = y/z_in
# with numbers of the header.
X, Y = sp.symbols("X Y", real=True)
BEND_X = _header["bendx"] + _header["bendx_x2"] * X**2 + _header["bendx_y2"] * Y**2
BEND_Y = _header["bendy_xy"] * X * Y
U_X, U_Y = (
    (slope - place - bend.subs({X: _X, Y: _Y}) * h) / _header["dtxy"]
    for slope, place, bend in ((tx, _X, BEND_X), (ty, _Y, BEND_Y))
)
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


@dataclass(frozen=True, eq=False)
class TableForm:
    """What the 80 coefficients of a bin multiply, and how a track's bin is chosen."""

    # Degrees in f of c00 (central), and of c10 and c01 (linear), by plane x or y; position and slope agree.
    central: dict[str, int]
    linear: dict[str, int]
    # A straight line chooses the bin at z_in + depth·(z_out − z_in). With the depth of the bend, a track
    # crosses the field of its bin. With depth 0, a track off the line to the origin crosses another field, an
    # effect of second order in u that no term describes.
    depth: sp.Rational
    # Whether the bend is added to s = t/√(1 + tx² + ty²) and not to the slopes t. The field changes s in
    # proportion to q/p, at any angle.
    sines: bool
    grid: int  # kind of the grid in the header: 1 is uniform at z_in, 2 uniform at that depth
    edges: tuple[float, float]  # of the grid, in x/z and y/z at that depth
    layout: int  # first version of the layout with this form

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """The polynomials of a bin in their order."""
        in_order = (("", "1"), ("t", "1"), ("", "u_x"), ("", "u_y"), ("t", "u_x"), ("t", "u_y"))
        return tuple(
            Piece(f"{kind}{plane}", factor, (self.central if factor == "1" else self.linear)[plane])
            for plane in ("x", "y")
            for kind, factor in in_order
        )

    @property
    def signature(self) -> dict[str, int]:
        """Numbers of a header that identify the form, by their names in :data:`HEADER`."""
        degrees = {"deg_x1": self.linear["x"], "deg_x2": self.central["x"]}
        degrees |= {"deg_y1": self.linear["y"], "deg_y2": self.central["y"]}
        grid = {"nbin_x": BINS[0], "nbin_y": BINS[1], "x_grid": self.grid, "y_grid": self.grid}
        return grid | degrees

    @property
    def summed(self) -> tuple[sp.Expr, sp.Expr]:
        """The quantities to which the bend of tx and ty is added."""
        length = sp.sqrt(1 + tx**2 + ty**2) if self.sines else sp.Integer(1)
        return tx / length, ty / length

    @property
    def lever(self) -> sp.Expr:
        """Distance behind z_in of the point that chooses a track's bin, mm."""
        return self.depth * (_header["z_out"] - _header["z_in"])

    @property
    def scales(self) -> tuple[sp.Expr, sp.Expr]:
        """Factors that convert mm at that depth, in x and y, to a position between −1 and 1 on the grid."""
        z = _header["z_in"] + self.lever
        return 1 / (z * _header["tx_max"]), 1 / (z * _header["ty_max"])

    @property
    def place(self) -> tuple[sp.Expr, sp.Expr]:
        """Position of a state at z_in on the grid, in x and y."""
        scale_x, scale_y = self.scales
        return (x + self.lever * tx) * scale_x, (y + self.lever * ty) * scale_y


# The trigger's form. Its grid reaches beyond the acceptance of hard tracks (0.3 and 0.25), to particles of
# 1.5 GeV that the magnet bends into the SciFi. The acceptance therefore has half as many cells, which makes x
# a quarter worse: a fiftieth of the scattering.
PRODUCTION = TableForm(
    {"x": 9, "y": 7}, {"x": 7, "y": 5}, sp.Integer(0), sines=False, grid=1, edges=(0.46, 0.35), layout=1
)
# More powers of f for the central polynomials, fewer for the terms in u. At this depth soft tracks have left
# their line to the origin, so the grid ends a little farther out.
IMPROVED = TableForm(
    {"x": 10, "y": 10},
    {"x": 6, "y": 4},
    sp.Rational(3, 10),
    sines=True,
    grid=2,
    edges=(0.47, 0.355),
    layout=2,
)

# Forms of published layouts must stay in this list: their tables are recognised by the header.
TABLE_FORMS = (PRODUCTION, IMPROVED)
assert all(sum(piece.degree for piece in form.pieces) == TABLE_SHAPE[2] for form in TABLE_FORMS)
# Lower limit of 1 − s²: a track below it has turned by more than 75° and left the detector.
SMALLEST_COSINE_SQUARED = 0.05


def table_form(header: Mapping[str, float]) -> TableForm | None:
    """Return the form of a table with this header, by its names; None if it is unknown."""
    return next((f for f in TABLE_FORMS if f.signature.items() <= dict(header).items()), None)
