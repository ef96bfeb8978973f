"""The result of a step's fits, stored as JSON. It has everything that a report or a parameter set needs.

A step may be trained in parts, each with some of its parameter sets. Joined, the parts equal the result of a
single training.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from parkf.io.documents.models import Noted, Strict, validated
from parkf.io.errors import ParkfError
from parkf.io.files import read_json, sha256, write_sealed
from parkf.io.option_types import FormsName
from parkf.io.workers import parallel_map
from parkf.model.steps import FORMS, STEP_NAMES, Step
from parkf.training.rows import SUMMED, UNREAD, read_batches, sums_of

RESULT_VERSION = 3


class Minimum(Strict):
    """One minimisation."""

    target: str  # components that were fitted: for p one of x, y, tx, ty; for the scattering several
    kind: str  # extrapolation (p) or noise (p̃)
    names: list[str]  # parameters that floated; nuisances (θ and tail fractions) come last
    values: list[float]
    # Errors of the sandwich form, clustered by particle, because the residuals are misfit and not noise.
    errors: list[float]
    naive_errors: list[float]  # from the curvature alone
    correlation: list[list[float]]  # of the sandwich covariance
    edm: float  # estimated distance to the minimum
    nll: float  # negative logarithm of the likelihood at the minimum
    calls: int  # evaluations of the likelihood


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


class _OfStep(StoredModel):
    """Fits of one step; `table` and `start` are SHA-256."""

    forms: FormsName
    step: str
    formula: str  # fingerprint of the step's formulas
    table: str | None  # the magnet table, for the step that builds on it
    start: str | None = None  # the neighbour's fit, or the manifest of its set, that this fit started from
    sets: list[SetResult]  # in the step's order


class FitResult(_OfStep):
    """All fits of one step."""

    what = "fit result"

    dataset: str  # SHA-256

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


@dataclass(frozen=True)
class Part:
    """One of the `count` parts of a step's parameter sets; `number` counts from one."""

    number: int
    count: int

    @classmethod
    def parse(cls, name: str) -> Self:
        """Read a name such as ``2-of-5``."""
        found = re.fullmatch(r"([1-9]\d*)-of-([1-9]\d*)", name)
        if not found or int(found[1]) > int(found[2]):
            raise ParkfError(f"part '{name}': expected <number>-of-<count>, such as 2-of-5")
        return cls(int(found[1]), int(found[2]))

    def of(self, step: Step) -> range:
        """Return the numbers of the sets, from zero; parts differ by one set at most."""
        sets = len(step.sets)
        if self.count > sets:
            raise ParkfError(
                f"step {step.name}: {self.count} parts, expected at most {sets}, one for each parameter set"
            )
        return range((self.number - 1) * sets // self.count, self.number * sets // self.count)


class PartResult(_OfStep):
    """Fits of some parameter sets of a step."""

    what = "part of a fit result"

    sums: list[int]  # of x1 of the rows of each set, from :func:`parkf.training.rows.sums_of`
    first: int  # number of the first of the sets


def join_parts(parts: Sequence[PartResult], dataset: Path, *, workers: int = 1) -> FitResult:
    """Join all parts of one step, in any order.

    `dataset` has all rows that the parts were fitted to, as one file. Its fingerprint is computed only here.
    Up to `workers` processes read it.
    """
    ordered = sorted(parts, key=lambda part: part.first)
    one = ordered[0]
    alike = ("step", "forms", "formula", "table", "start")
    for name in alike:
        values = {getattr(part, name) for part in ordered}
        if len(values) > 1:
            raise ParkfError(f"parts of step {one.step}: different {name}: {', '.join(map(str, values))}")
    numbers = [number for part in ordered for number in range(part.first, part.first + len(part.sets))]
    expected = list(range(len(FORMS[one.forms].steps[one.step].sets)))
    if numbers != expected:
        raise ParkfError(f"parts of step {one.step}: hold sets {numbers}, expected each of {expected} once")
    # The fits read some columns, and checked them. The rest is read here, so that the fingerprint belongs to
    # an undamaged file.
    step, columns = FORMS[one.forms].steps[one.step], (*SUMMED, *UNREAD)

    def sums(share: int) -> NDArray[np.uint64]:
        batches = read_batches(dataset, share=(share, share + 1, workers), columns=columns)
        return sums_of(batches, range(len(step.sets)), step.joined)

    found = np.sum(list(parallel_map(sums, range(workers), workers)), axis=0)[1]
    if [total for part in ordered for total in part.sums] != found.tolist():
        raise ParkfError(f"{dataset}: not the dataset that the parts of step {one.step} were fitted to")
    sets = [result for part in ordered for result in part.sets]
    return FitResult(**{name: getattr(one, name) for name in alike}, dataset=sha256(dataset), sets=sets)
