"""The result of a step's fits, stored as JSON. It has everything that a report or a parameter set needs."""

from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from parkf.io.documents.models import Noted, StoredModel, Strict
from parkf.io.option_types import FormsName
from parkf.model.steps import STEP_NAMES


class Minimum(Strict):
    """One minimisation."""

    target: str  # components that were fitted: for p one of x, y, tx, ty; for the scattering several
    kind: str  # extrapolation (p) or noise (p̃)
    names: list[str]  # parameters that floated; nuisances (θ and tail fractions) come last
    values: list[float]
    # Errors of the sandwich form, clustered by particle, because the residuals are misfit and not noise.
    errors: list[float]
    correlation: list[list[float]]  # of the sandwich covariance
    edm: float  # estimated distance to the minimum


class BinAccuracy(Strict):
    """δ_par = form − Runge–Kutta of one component in one bin of the momentum at production (GeV).

    `mean` and `rms` are of δ_par, `q68` and `q99` are quantiles of |δ_par|, all in mm or rad. `ratio_rms` is
    the RMS of δ_par/σ_MS, `truth_width` the core width of (form − truth)/σ_MS. Both are null where the step
    has no scattering.
    """

    p_min: float
    p_max: float
    component: str
    n: int
    mean: float
    rms: float
    q68: float
    q99: float
    ratio_rms: float | None
    truth_width: float | None


class Profile(Strict):
    """Mean and RMS of δ_par/σ_MS, for each component, in slices of one variable between `edges`."""

    variable: str  # p at production (GeV), or at the origin of the step: x, y (mm), tx or ty
    edges: list[float]
    mean: dict[str, list[float]]
    rms: dict[str, list[float]]


class SetResult(Noted):
    """A parameter set of a step."""

    label: str  # as in the step's definition
    rows: int  # number of rows that were fitted
    values: list[float]  # of all parameters, in their order
    errors: list[float | None]  # None for parameters that no fit determined: fixed or unused ones
    minima: list[Minimum] = Field(default_factory=list)  # in the order in which they were fitted
    accuracy: list[BinAccuracy] = Field(default_factory=list)  # for bins with enough rows
    profiles: list[Profile] = Field(default_factory=list)  # empty without scattering


class FitResult(StoredModel):
    """All fits of one step; `table` and `dataset` are SHA-256."""

    version: Literal[4] = 4
    forms: FormsName
    step: str
    formula: str  # fingerprint of the step's formulas
    table: str | None  # the magnet table, for the step that builds on it
    sets: list[SetResult]  # in the step's order
    dataset: str

    @property
    def numbers(self) -> NDArray[np.float64]:
        """The fitted parameters (sets, m) float64."""
        return np.array([one.values for one in self.sets])


def load_results(folder: Path) -> dict[str, FitResult]:
    """Read the fit results of all steps of a run from ``<step>.json``."""
    return {name: FitResult.load(folder / f"{name}.json") for name in STEP_NAMES}
