"""The hop through the magnet as a step: the table's prediction replaces the origin's state.

Class :class:`Trained` holds the fits of all steps.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from parkf.io.errors import ParkfError
from parkf.io.events import select
from parkf.model.codegen.numpy_step import BEFORE_COLUMNS, NumpyStep, numpy_step
from parkf.model.layout import HEADER
from parkf.model.steps import Forms
from parkf.training.magnet_table import MagnetTable
from parkf.training.magnet_table.form import inside_grid
from parkf.training.result import FitResult
from parkf.training.rows import COMPONENTS, F64, Rows, StoredRows
from parkf.training.spread import half_width

# Number of rows that the energy loss is determined from. It is known to 0.05 MeV.
SAMPLE = 100_000
# A row whose plane is farther than this from the table's, in mm, was made for another detector.
PLANE_TOLERANCE = 0.01


def through_magnet(functions: NumpyStep, table: MagnetTable, rows: Rows, p: F64) -> Rows:
    """Carry the origins of UTTF's rows to z_out.

    Of the parameters `p` (m,) of UTTF, only the energy loss is used. Returned rows have x0, y0, tx0, ty0 at
    z_out and x_in, y_in, tx_in, ty_in at z_in. The Runge–Kutta target is moved to the momentum that the form
    assumes, because fluctuations of the energy loss are scattering and not misfit. They stay in the truth. A
    few per mille of the rows lie beyond the grid's edge and are left out: the table ends there, and its
    misfit must not enter the corrections and the scattering.
    """
    header = dict(zip(HEADER, table.header, strict=True))
    for column, plane in (("z0", "z_in"), ("z1", "z_out")):
        if np.abs(rows[column] - header[plane]).max() > PLANE_TOLERANCE:
            raise ParkfError(
                f"step UTTF: column {column} has {rows[column].min()} to {rows[column].max()}, the table's "
                f"{plane} is {header[plane]}; train the table and build the dataset with one geometry"
            )
    origins = np.column_stack([rows[f"{c}0"] for c in COMPONENTS])
    inside = inside_grid(table.header, origins)
    rows, origins = select(rows, inside), origins[inside]
    assumed = table.extrapolate(origins, functions.local_qop(p, rows["qop"]), rows["polarity"])
    own = table.extrapolate(origins, np.sign(rows["qop"]) / rows["p_true"], rows["polarity"])
    moved = {f"{c}e": rows[f"{c}e"] + assumed[:, i] - own[:, i] for i, c in enumerate(COMPONENTS)}
    begins = dict(zip(BEFORE_COLUMNS, origins.T, strict=True))
    return {**rows, **begins, **{f"{c}0": assumed[:, i] for i, c in enumerate(COMPONENTS)}, **moved}


def loss_before_bend(functions: NumpyStep, table: MagnetTable, rows: StoredRows, start: F64) -> float:
    """Return the energy loss (MeV) with which the table's bend agrees with the true one.

    It differs from the mean loss up to z_in in two ways. It includes the loss between z_in and the bend. And
    rare large losses have a small weight, because no mean describes tracks that have them. The loss is the
    centre of a Cauchy distribution fitted to the residuals in tx; the width of the distribution is adapted to
    the residuals. The search begins at the loss in `start` (m,), the parameters of UTTF.
    """
    sample = rows.sample(SAMPLE)
    (index,) = functions.step.indices("loss")

    def residual(loss: float) -> F64:
        p = np.where(np.arange(len(start)) == index, loss, start)
        carried = through_magnet(functions, table, sample, p)
        return np.asarray((carried["tx0"] - carried["tx1"]) / np.abs(carried["qop"]))

    # The bend is linear in the loss, as long as the loss is small compared with the momentum.
    first = residual(start[index])
    slope = residual(start[index] + 1) - first
    shift = 0.0
    for _ in range(50):
        pull = first + shift * slope
        weight = 1 / (1 + (pull / (2 * half_width(pull))) ** 2)
        step = float(np.sum(weight * slope * pull) / np.sum(weight * slope**2))
        shift -= step
        if abs(step) < 1e-4:
            break
    return float(start[index]) + shift


@dataclass(frozen=True)
class Trained:
    """Fits of all steps by name, the magnet table, and the folder of their ``<step>.parquet``."""

    forms: Forms
    results: dict[str, FitResult]
    table: MagnetTable
    datasets: Path

    def step(self, name: str, number: int) -> tuple[NumpyStep, F64]:
        """Return a step's functions and the parameters (m,) of one of its sets."""
        return numpy_step(self.forms.steps[name]), self.results[name].numbers[number]

    def dataset(self, name: str) -> Path:
        """Return the path of a step's dataset."""
        return self.datasets / f"{name}.parquet"
