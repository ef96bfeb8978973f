"""Results of a training, as the measurements of several steps together need them."""

from dataclasses import dataclass
from pathlib import Path

from parkf.model.codegen.numpy_step import NumpyStep, numpy_step
from parkf.model.steps import Forms
from parkf.training.magnet_hop import through_magnet
from parkf.training.magnet_table import MagnetTable
from parkf.training.minimise import F64
from parkf.training.result import FitResult
from parkf.training.rows import Rows


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

    def begin(self, name: str, number: int, rows: Rows) -> Rows:
        """Carry the rows of a set to where its forms begin: those of UTTF from z_in to z_out."""
        functions, p = self.step(name, number)
        return through_magnet(functions, self.table, rows, p) if name == "UTTF" else rows
