"""The outcome of a step's fits, as kept in JSON: everything a report or a parameter set needs."""

from pathlib import Path
from typing import ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from parkf.io.errors import ParkfError
from parkf.io.files import read_json, write_sealed
from parkf.io.option_types import FormsName
from parkf.model.steps import FORMS, STEP_NAMES

RESULT_VERSION = 3


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Minimum(_Strict):
    """One minimisation.

    Attributes
    ----------
    target : str
        Components that were fitted: one of x, y, tx, ty for p, pairs for the scattering.
    kind : str
        ``extrapolation`` (p) or ``noise`` (p̃).
    names : list of str
        Parameters that floated; nuisances (θ, tail fraction and width) come last.
    values, errors : list of float
        Errors are of the sandwich form, clustered by particle: the residual is misfit, not noise.
    naive_errors : list of float
        From the curvature alone.
    correlation : list of list of float
        Of the sandwich covariance.
    edm : float
        Estimated distance to the minimum.
    nll : float
        Negative logarithm of the likelihood at the minimum.
    calls : int
        Evaluations of it.
    """

    target: str
    kind: str
    names: list[str]
    values: list[float]
    errors: list[float]
    naive_errors: list[float]
    correlation: list[list[float]]
    edm: float
    nll: float
    calls: int


class BinAccuracy(_Strict):
    """δ_par = form − Runge–Kutta of one component in one momentum bin (GeV, at production).

    `mean` and `rms` of δ_par, `q68`, `q99` of |δ_par| in mm or rad; `ratio_rms` is the RMS of δ_par/σ_MS,
    `truth_width` the core width of (form − truth)/σ_MS; both null where the step has no scattering.
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


class Profile(_Strict):
    """Mean and RMS of δ_par/σ_MS of each component in slices of one variable.

    `variable` is ``p`` (GeV, at production), ``x``, ``y`` (mm), ``tx`` or ``ty`` at the origin; slices lie
    between `edges`.
    """

    variable: str
    edges: list[float]
    mean: dict[str, list[float]]
    rms: dict[str, list[float]]


class SetResult(_Strict):
    """A parameter set of a step.

    Attributes
    ----------
    label : str
        As in the step's definition.
    rows : int
        Rows of the dataset that were fitted.
    values, errors : list of float
        Of all parameters, in their order; errors are None where no fit determined a parameter: fixed,
        or not used.
    minima : list of Minimum
        In the order in which they were fitted.
    accuracy : list of BinAccuracy
        For bins with enough rows.
    truth_width : dict of str to float
        Core width of (form − truth)/σ_MS over all momenta, by component; empty without scattering.
    profiles : list of Profile
        Empty without scattering.
    """

    label: str
    rows: int
    values: list[float]
    errors: list[float | None]
    minima: list[Minimum]
    accuracy: list[BinAccuracy]
    truth_width: dict[str, float]
    profiles: list[Profile]


class StoredModel(_Strict):
    """A result with a file of its own, and the version of the file's format."""

    what: ClassVar[str]

    version: int = RESULT_VERSION

    def save(self, path: Path) -> None:
        """Write as JSON; equal results give equal bytes."""
        write_sealed(path, self.model_dump(mode="json"))

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a result.

        Raises
        ------
        ParkfError
            When the file is missing, of another version, or not such a result.
        """
        content = read_json(path)
        version = content.get("version") if isinstance(content, dict) else None
        if version != RESULT_VERSION:
            raise ParkfError(
                f"{path}: {cls.what} of version {version}, expected {RESULT_VERSION}; fit the step again"
            )
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise ParkfError(f"{path}: {place}: {first['msg']}; fit the step again") from error


class FitResult(StoredModel):
    """All fits of one step.

    Attributes
    ----------
    forms : {'improved', 'production'}
        Set of forms.
    step : str
        Block of the parameter set.
    formula : str
        Fingerprint of the step's formulas.
    dataset, table, start : str or None
        SHA-256 of the dataset, of the magnet table (for the step that builds on it), and of the
        neighbour's fit, or of the manifest of its set, that this one started from.
    sets : list of SetResult
        In the step's order.
    """

    what = "fit result"

    forms: FormsName
    step: str
    formula: str
    dataset: str
    table: str | None
    start: str | None = None
    sets: list[SetResult]


def load_results(folder: Path) -> dict[str, FitResult]:
    """Fit results of all steps, of one set of forms.

    Raises
    ------
    ParkfError
        When one is missing, of another step or set of forms, or was fitted with other formulas than the step
        has now.
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
