"""The result of a step's fits, stored as JSON. It has everything that a report or a parameter set needs."""

from pathlib import Path
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from parkf.io.documents.models import Noted, Strict, validated
from parkf.io.errors import ParkfError
from parkf.io.files import read_json, write_sealed
from parkf.io.option_types import FormsName
from parkf.model.steps import FORMS, STEP_NAMES

RESULT_VERSION = 4


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
    minima: list[Minimum]  # in the order in which they were fitted
    accuracy: list[BinAccuracy]  # for bins with enough rows
    truth_width: dict[str, float]  # core width of (form − truth)/σ_MS by component; empty without scattering
    profiles: list[Profile]  # empty without scattering


class StoredModel(Strict):
    """A result with a file of its own, and the version of the file's format."""

    what: ClassVar[str]

    version: int = RESULT_VERSION

    def save(self, path: Path) -> None:
        """Write as JSON; equal results have equal bytes."""
        write_sealed(path, self.model_dump(mode="json"))

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a result; a ParkfError reports a file of another version, or one that is no such result."""
        content = read_json(path)
        version = content.get("version") if isinstance(content, dict) else None
        if version != RESULT_VERSION:
            raise ParkfError(
                f"{path}: {cls.what} of version {version}, expected {RESULT_VERSION}; fit the step again"
            )
        return validated(content, cls, lambda place: str(path), remedy="fit the step again")


class FitResult(StoredModel):
    """All fits of one step; `table` and `dataset` are SHA-256."""

    what = "fit result"

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
    """Read the fit results of all steps from ``<step>.json``.

    They must have one set of forms, and the formulas that these forms have now.
    """
    results: dict[str, FitResult] = {}
    for name in STEP_NAMES:
        path = folder / f"{name}.json"
        result = FitResult.load(path)
        if result.step != name:
            raise ParkfError(f"{path}: fit of step {result.step}, expected {name}")
        for other in results.values():
            if other.forms != result.forms:
                raise ParkfError(
                    f"{path}: fitted with forms '{result.forms}', {other.step} with '{other.forms}'; "
                    "fit all steps with one set of forms"
                )
        if result.formula != FORMS[result.forms].steps[name].formula_hash():
            raise ParkfError(f"{path}: fitted with other formulas than step {name} has now; fit it again")
        results[name] = result
    return results
