"""Numbers of the hop through the magnet: the table's header, its bins and the pieces of a bin."""

from typing import NamedTuple

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
TABLE_SHAPE = (*BINS, 80)
# Numbers of the header that are odd in h; steps know the parity of their own.
ODD_HEADER = ("bendx", "bendx_x2", "bendx_y2", "bendy_xy")


class Piece(NamedTuple):
    """Coefficients of f, f², …, f^degree in a bin: of `component`, multiplied by `factor` (1, u_x or u_y)."""

    component: str
    factor: str
    degree: int
