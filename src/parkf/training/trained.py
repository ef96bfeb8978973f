"""Results of a training, as the measurements of several steps together need them."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from parkf.model.codegen.numpy_step import NumpyStep, numpy_step
from parkf.model.steps import Forms
from parkf.training.magnet_table import MagnetTable
from parkf.training.minimise import F64
from parkf.training.result import FitResult


@dataclass(frozen=True)
class Trained:
    """Fits of all steps by name, the magnet table, and the folder of their ``<step>.parquet``."""

    forms: Forms
    results: dict[str, FitResult]
    table: MagnetTable
    datasets: Path

    def step(self, name: str, number: int) -> tuple[NumpyStep, F64]:
        """Return a step's functions and the parameters (m,) of one of its sets."""
        return numpy_step(self.forms.steps[name]), np.array(self.results[name].sets[number].values)

    def dataset(self, name: str) -> Path:
        """Return the path of a step's dataset."""
        return self.datasets / f"{name}.parquet"
