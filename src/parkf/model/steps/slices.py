"""Steps inside the magnet, between any two z: a track crosses thin slices of the field one after the other.

In a magnetic field, the sines u = tx/N and v = ty/N with N = √(1 + tx² + ty²) change by integrals of the
field, du/dz = κ·h·(ty·Bz − By) and dv/dz = κ·h·(Bx − tx·Bz). In a slice, each integral follows from numbers
that belong to the point where the track crosses the middle of the slice: the mean of a field, and its
increase from one end of the slice to the other. B-splines of second order interpolate these numbers between
the nodes of a grid. The positions follow from the slopes at both ends and in the middle by Simpson's rule.

The same numbers serve tracks in both directions, and tracks that cross only a part of a slice.
"""

from dataclasses import dataclass

import sympy as sp

from parkf.model.steps.symbols import COMPONENTS, h, k, pol, tx, ty, x, y

# z of the first and of the last end of a slice, mm, and the number of slices: from the VELO, where the first
# decays behind it lie, to the first SciFi layer.
Z_FIRST, Z_LAST, SLICES = 360.0, 7850.0, 14
# Grid in x/z and y/z, with z in the middle of the slice: its edges, and the number of cells.
EDGES, CELLS = (0.42, 0.33), (12, 10)
NODES = tuple(cells + 2 for cells in CELLS)


@dataclass(frozen=True)
class Map:
    """What each node of a slice has a number for."""

    name: str
    text: str
    unit: str = "MeV/mm"


MAPS = (
    Map("by", "mean field that bends tx"),
    Map("gy", "its increase across the slice"),
    Map("bz", "mean field along z"),
    Map("bx", "mean field that turns ty"),
    Map("gx", "its increase across the slice"),
    Map("gz", "increase across the slice of the field along z"),
    Map("cy", "curvature along the slice of the field that bends tx"),
)

# A slice: its length (mm), where the track begins and ends in it (−½ to ½), and the bend in its centre
# (MeV/mm).
length, begin, end, centre = sp.symbols("length begin end centre", real=True)
# The maps where the track crosses the middle of the slice, and derivatives of the first two, 1/mm.
by, gy, bz, bx, gx, gz, cy = FIELDS = sp.symbols(tuple(one.name for one in MAPS), real=True)
by_x, by_y, gy_x, gy_y = SLOPES = sp.symbols("by_x by_y gy_x gy_y", real=True)

_N = sp.sqrt(1 + tx**2 + ty**2)
_to_middle = -begin * length
# The curve of the track up to the middle, by the bend in the slice's centre.
_curve = h * centre * _N * (1 + tx**2)
# Where the track crosses the middle of the slice, mm.
MIDDLE = (x + tx * _to_middle + _curve * _to_middle**2 / 2, y + ty * _to_middle)
_tx_middle = tx + _curve * _to_middle


def _integral(
    mean: sp.Expr, rise: sp.Expr, to: sp.Expr, *, moving: sp.Expr = sp.S.Zero, curved: sp.Expr = sp.S.Zero
) -> sp.Expr:
    """Integrate a field from `begin` to `to`.

    Along the slice, ζ = −½ to ½, the field is mean + rise·ζ + curved·(ζ² − 1/12). By `moving`, its rise
    changes along the track, in 1/mm.
    """
    line = to - begin
    square, cube = (to**2 - begin**2) / 2, (to**3 - begin**3) / 3
    return length * (mean * line + rise * square + moving * length * cube + curved * (cube - line / 12))


def _sines(to: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    moving = _tx_middle * gy_x + ty * gy_y
    bends = _integral(by + ty * bz, gy + ty * gz, to, moving=moving, curved=cy)
    turns = _integral(bx - _tx_middle * bz, gx - _tx_middle * gz, to)
    return tx / _N + h * bends, ty / _N + h * turns


def _slopes(sines: tuple[sp.Expr, sp.Expr]) -> tuple[sp.Expr, sp.Expr]:
    u, v = sines
    cosine = sp.sqrt(1 - u**2 - v**2)
    return u / cosine, v / cosine


def _outputs() -> dict[str, sp.Expr]:
    half, whole = _slopes(_sines((begin + end) / 2)), _slopes(_sines(end))
    sixth = (end - begin) * length / 6
    place = (x, y)
    slope = (tx, ty)
    ways = [place[i] + sixth * (slope[i] + 4 * half[i] + whole[i]) for i in range(2)]
    return dict(zip(COMPONENTS, (*ways, *whole), strict=True))


# The state behind the hop, from the state before it.
OUTPUTS = _outputs()


def derivative(form: sp.Expr, variable: sp.Symbol) -> sp.Expr:
    """Differentiate with respect to a state variable; the mean field changes with the point in the middle."""
    total = sp.diff(form, variable)
    place = [sp.diff(each, variable) for each in MIDDLE]
    total += sp.diff(form, by) * (by_x * place[0] + by_y * place[1])
    if variable == k:
        total = pol * (
            sp.diff(form, h)
            + sp.diff(form, by)
            * sum(slope * sp.diff(each, h) for slope, each in zip((by_x, by_y), MIDDLE, strict=True))
        )
    return total


# Weights of three neighbouring nodes for a place t in the middle one's cell, 0 to 1, and their derivatives.
t = sp.Symbol("t", real=True)
WEIGHTS = ((1 - t) ** 2 / 2, sp.Rational(1, 2) + t - t**2, t**2 / 2)
