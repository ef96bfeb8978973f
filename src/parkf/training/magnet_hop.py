"""The hop through the magnet as a step: the table's prediction takes the place of the origin's state."""

import numpy as np

from parkf.codegen.numpy_step import NumpyStep
from parkf.errors import ParkfError
from parkf.steps.magnet import HEADER
from parkf.training.magnet_table import MagnetTable
from parkf.training.magnet_table.form import inside_grid
from parkf.training.minimise import F64
from parkf.training.rows import Rows, select

# A row whose plane is farther than this from the table's, in mm, was made for another detector.
PLANE_TOLERANCE = 0.01


def through_magnet(functions: NumpyStep, table: MagnetTable, rows: Rows, p: F64) -> Rows:
    """Carry the origins of UTTF's rows to z_out.

    Parameters
    ----------
    functions : NumpyStep
        Step UTTF.
    table : MagnetTable
        The table.
    rows : dict of (n,) arrays
        Rows of UTTF.
    p : (m,) float64
        Parameters of UTTF, of which those for the energy loss are used.

    Returns
    -------
    dict of (n,) arrays
        The rows with x0, y0, tx0, ty0 at z_out. The few per mille beyond the grid's edge are left out: the
        table ends there, and neither corrections nor scattering should pay for it.

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
    origins = np.column_stack([rows[name] for name in ("x0", "y0", "tx0", "ty0")])
    inside = inside_grid(table.header, origins)
    rows, origins = select(rows, inside), origins[inside]
    ends = table.extrapolate(origins, functions.local_qop(p, rows["qop"]), rows["polarity"])
    return {**rows, "x0": ends[:, 0], "y0": ends[:, 1], "tx0": ends[:, 2], "ty0": ends[:, 3]}
