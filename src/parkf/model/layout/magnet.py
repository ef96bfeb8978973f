"""Numbers of the hop through the magnet: the table's header, its bins and the pieces of a bin."""

from typing import NamedTuple

HEADER_TEXT = {
    "z_in": "z where the hop begins, mm",
    "z_out": "z where it ends, mm",
    "p_min": "momentum at which f = 1, MeV",
    "bendx": "mean kick in x, MeV",
    "bendx_x2": "its change with X², MeV",
    "bendx_y2": "its change with Y², MeV",
    "bendy_xy": "kick in y with XY, MeV",
    "tx_max": "edge of the bins in x/z_in",
    "ty_max": "edge of the bins in y/z_in",
    "xf_max": "edge of the tracks trained on at z_out, mm",
    "dtxy": "slope that makes u = 1",
    "nbin_x": "bins in x",
    "nbin_y": "bins in y",
    "x_grid": "kind of grid in x (1: uniform)",
    "y_grid": "kind of grid in y (1: uniform)",
    "deg_x1": "degree of the u terms of x and tx",
    "deg_x2": "degree of the central term of x and tx",
    "deg_y1": "degree of the u terms of y and ty",
    "deg_y2": "degree of the central term of y and ty",
}
HEADER = tuple(HEADER_TEXT)
BINS = (60, 50)
TABLE_SHAPE = (*BINS, 80)
# Numbers of the header that are odd in h; steps know the parity of their own.
ODD_HEADER = ("bendx", "bendx_x2", "bendx_y2", "bendy_xy")


class Piece(NamedTuple):
    """Coefficients of f, f², …, f^degree in a bin: of `component`, multiplied by `factor` (1, u_x or u_y)."""

    component: str
    factor: str
    degree: int
