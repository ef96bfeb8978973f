"""The hop through the magnet as a step: the table's prediction takes the place of the origin's state."""

import numpy as np

from parkf.codegen.numpy_step import local_qop
from parkf.errors import ParkfError
from parkf.steps.magnet import HEADER
from parkf.training.magnet_table import MagnetTable
from parkf.training.magnet_table.form import inside_grid
from parkf.training.minimise import F64
from parkf.training.rows import Rows, select

# In p of UTTF: the energy lost before the table.
LOSS_INDEX = 19
# A row whose plane is farther than this from the table's, in mm, was made for another detector.
PLANE_TOLERANCE = 0.01


def through_magnet(table: MagnetTable, rows: Rows, start: F64, loss: float) -> tuple[Rows, F64]:
    """Carry the origins of UTTF's rows to z_out.

    Parameters
    ----------
    table : MagnetTable
        The table.
    rows : dict of (n,) arrays
        Rows of UTTF.
    start : (20,) float64
        Parameters of UTTF.
    loss : float
        Mean energy loss before z_in, MeV. It is p19 and fixes it; p18 stays where it is, since it would only
        repeat p19 and ruin the conditioning.

    Returns
    -------
    rows, start
        With x0, y0, tx0, ty0 at z_out, and with p19 in place. The few per mille of rows beyond the grid's
        edge are left out: the table ends there, and neither corrections nor scattering should pay for it.

    Raises
    ------
    ParkfError
        When the rows' planes are not the table's.
    """
    header = dict(zip(HEADER, table.header, strict=True))
    for column, plane in (("z0", "z_in"), ("z1", "z_out")):
        if np.abs(rows[column] - header[plane]).max() > PLANE_TOLERANCE:
            raise ParkfError(
                f"step UTTF: column {column} has {rows[column].min()} to {rows[column].max()}, the table's "
                f"{plane} is {header[plane]}; train the table and build the dataset with one geometry"
            )
    start = start.copy()
    start[LOSS_INDEX] = loss
    origins = np.column_stack([rows[name] for name in ("x0", "y0", "tx0", "ty0")])
    inside = inside_grid(table.header, origins)
    rows, origins = select(rows, inside), origins[inside]
    ends = table.extrapolate(origins, local_qop(start, rows["qop"]), rows["polarity"])
    return {**rows, "x0": ends[:, 0], "y0": ends[:, 1], "tx0": ends[:, 2], "ty0": ends[:, 3]}, start
