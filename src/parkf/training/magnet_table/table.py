"""The trained magnet table as a file, and its evaluation by the kernel."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import parkf._fitter as _fitter
from parkf.io.errors import ParkfError
from parkf.io.files import replacing
from parkf.io.npz import load_arrays
from parkf.model.layout import HEADER, TABLE_SHAPE
from parkf.model.steps.magnet import TableForm
from parkf.training.magnet_table.form import F64, Header


@dataclass(frozen=True, eq=False)
class MagnetTable:
    """A magnet table: its header (19,) and its coefficients (60, 50, 80).

    The header is block UTT_META of the constant blob; the coefficients are the global blob. `closed_with` is
    the SHA-256 of the constant blob that the table was closed with (:mod:`parkf.training.closure`). It is
    empty where the table was trained on rays alone. `velo_loss` is the loss of momentum in each VELO module,
    MeV, that it was closed with: the table's bend does not include it.
    """

    header: NDArray[np.float32]
    coefficients: NDArray[np.float32]
    closed_with: str = ""
    velo_loss: float = 0.0

    @property
    def form(self) -> TableForm:
        """The form that determines the meaning of the coefficients."""
        return Header.of(self.header).form

    def extrapolate(self, states: F64, qop: F64, polarity: F64) -> F64:
        """Carry states (n, 4) at z_in through the magnet with the kernel, in float64; return them at z_out.

        States are x, y in mm, tx, ty; `qop` (n,) is q/p at z_in in 1/MeV. `polarity` (n,) is +1 for MagUp and
        -1 for MagDown.
        """
        header = self.header.astype(np.float64)
        columns = (np.ascontiguousarray(column, dtype=np.float64) for column in (states, qop, polarity))
        return np.asarray(_fitter.magnet_extrapolate(header, self.coefficients.ravel(), *columns)[0])

    def save(self, path: Path) -> None:
        """Write as .npy arrays in one .npz; equal tables have equal bytes."""
        with replacing(path) as temporary, temporary.open("wb") as stream:
            arrays: dict[str, NDArray[Any]] = {"header": self.header, "coefficients": self.coefficients}
            if self.closed_with:
                arrays["closed_with"] = np.array(self.closed_with)
            if self.velo_loss:
                arrays["velo_loss"] = np.array(self.velo_loss)
            np.savez(stream, allow_pickle=False, **arrays)


def load_table(path: Path) -> MagnetTable:
    """Read a table; a ParkfError reports an array that is missing, misshapen or not finite."""
    arrays = load_arrays(path, ("header", "coefficients"), ("closed_with", "velo_loss"))
    closed_with = str(arrays.pop("closed_with", ""))
    velo_loss = float(arrays.pop("velo_loss", np.zeros(())))
    for name, shape in (("header", (len(HEADER),)), ("coefficients", TABLE_SHAPE)):
        array = arrays[name]
        if array.shape != shape or array.dtype != np.float32 or not np.isfinite(array).all():
            raise ParkfError(
                f"{path}: {name} has shape {array.shape} of {array.dtype}, expected {shape} of finite float32"
            )
    Header.of(arrays["header"])
    return MagnetTable(**arrays, closed_with=closed_with, velo_loss=velo_loss)
