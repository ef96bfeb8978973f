"""The fit of one step: p from the Runge–Kutta target, then p̃ from the truth, set by set."""

from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from parkf.choices import FormsName
from parkf.codegen.numpy_step import NumpyStep, numpy_step
from parkf.errors import ParkfError
from parkf.files import sha256
from parkf.steps import FORMS, Step
from parkf.training.extrapolation import fit_extrapolation
from parkf.training.magnet_hop import through_magnet
from parkf.training.magnet_table import MagnetTable, load_table
from parkf.training.minimise import F64, Influence
from parkf.training.momentum import FEWEST_ROWS, half_width, momentum_bins
from parkf.training.noise import fit_noise
from parkf.training.result import BinAccuracy, FitResult, Minimum, SetResult
from parkf.training.rows import (
    COMPONENTS,
    Rows,
    clusters,
    load_rows,
    runge_kutta_residual,
    select,
    truth_residual,
)

# Fewer rows do not determine a dozen parameters and their errors.
FEWEST_ROWS_OF_A_SET = 100


def train_step(dataset: Path, step: str, *, forms: FormsName, table: Path | None = None) -> FitResult:
    """Fit all parameter sets of a step.

    Parameters
    ----------
    dataset : Path
        Step dataset, both polarities together.
    step : str
        Name of the step.
    forms : {'improved', 'production'}
        Set of forms, of :data:`parkf.steps.FORMS`.
    table : Path, optional
        The magnet table, for UTTF.

    Returns
    -------
    FitResult
        Equal inputs give equal results, on any number of cores.

    Raises
    ------
    ParkfError
        When the step does not exist, UTTF comes without a table, a set has too few rows, or a fit is invalid.
    """
    steps = FORMS[forms].steps
    if step not in steps:
        raise ParkfError(f"step '{step}' does not exist, expected one of {', '.join(steps)}")
    if (step == "UTTF") != (table is not None):
        raise ParkfError(f"step {step}: a magnet table is needed for UTTF and for no other step")
    rows = load_rows(dataset)
    with threadpool_limits(1):
        sets = train_rows(rows, steps[step], table=load_table(table) if table else None, where=str(dataset))
    return FitResult(
        forms=forms,
        step=step,
        formula=steps[step].formula_hash(),
        dataset=sha256(dataset),
        table=sha256(table) if table else None,
        sets=sets,
    )


def train_rows(
    rows: Rows, step: Step, *, table: MagnetTable | None = None, where: str = "rows"
) -> list[SetResult]:
    """Fit all parameter sets of a step to rows in memory; see :func:`train_step`."""
    functions = numpy_step(step)
    results = []
    for number, label in enumerate(step.sets):
        of_set = select(rows, rows["set"] // step.joined == number)
        count = len(of_set["set"])
        name = f"{where}: step {step.name}, set {number} ({label})"
        if count < FEWEST_ROWS_OF_A_SET:
            raise ParkfError(
                f"{name}: {count} rows, expected at least {FEWEST_ROWS_OF_A_SET}; use more events"
            )
        results.append(_train_set(functions, of_set, label, table, name))
    return results


def _train_set(
    functions: NumpyStep, rows: Rows, label: str, table: MagnetTable | None, where: str
) -> SetResult:
    step = functions.step
    start = np.array([parameter.start for parameter in step.parameters])
    start[list(step.indices("loss"))] = mean_energy_loss(rows)
    if table is not None:
        rows = through_magnet(functions, table, rows, start)
    influence = Influence(clusters(rows), len(start))
    values, minima = fit_extrapolation(functions, rows, start, influence, where)
    values, noise_minima = fit_noise(functions, rows, values, influence, where)
    accuracy, widths = _accuracy(functions, values, rows)
    return SetResult(
        label=label,
        rows=len(rows["set"]),
        values=values.tolist(),
        errors=_errors(len(values), [*minima, *noise_minima]),
        minima=[*minima, *noise_minima],
        accuracy=accuracy,
        truth_width=widths,
    )


def mean_energy_loss(rows: Rows) -> float:
    """Mean loss in MeV between production and the origin of the step, without the 1% that lost most.

    The rare large losses of a Landau distribution belong to no track that a mean could describe.
    """
    loss = 1 / np.abs(rows["qop"]) - rows["p_true"]
    return float(loss[loss <= np.quantile(loss, 0.99)].mean())


def _errors(count: int, minima: list[Minimum]) -> list[float | None]:
    errors: list[float | None] = [None] * count
    for minimum in minima:
        for name, error in zip(minimum.names, minimum.errors, strict=True):
            if name.startswith("p") and name[1:].isdigit():
                errors[int(name[1:])] = error
    return errors


def _accuracy(functions: NumpyStep, p: F64, rows: Rows) -> tuple[list[BinAccuracy], dict[str, float]]:
    """Accuracy by momentum bin and component, and the overall standardised truth widths."""
    predicted = functions.predict(p, rows)
    sigma = functions.noise(p, rows) if functions.step.noise else None
    result, widths = [], {}
    for component in COMPONENTS:
        delta = runge_kutta_residual(predicted, rows, component)
        truth = truth_residual(predicted, rows, component)
        if sigma is not None:
            widths[component] = half_width(truth / sigma[component])
        for low, high, mask in momentum_bins(rows["qop"]):
            if mask.sum() >= FEWEST_ROWS:
                scale = None if sigma is None else sigma[component][mask]
                result.append(bin_accuracy(low, high, component, delta[mask], truth[mask], scale))
    return result, widths


def bin_accuracy(
    p_min: float, p_max: float, component: str, delta: F64, truth: F64, sigma: F64 | None
) -> BinAccuracy:
    """Figures of one component in one bin, from form − Runge–Kutta, form − truth and σ_MS, each (n,)."""
    return BinAccuracy(
        p_min=p_min,
        p_max=p_max,
        component=component,
        n=len(delta),
        rms=float(np.sqrt(np.mean(delta**2))),
        q68=half_width(delta),
        q99=half_width(delta, 0.99),
        ratio_rms=None if sigma is None else float(np.sqrt(np.mean((delta / sigma) ** 2))),
        truth_width=None if sigma is None else half_width(truth / sigma),
    )
