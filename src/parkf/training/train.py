"""The fit of one step: p from the Runge–Kutta target, then p̃ from the truth, set by set."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from parkf.io.errors import ParkfError
from parkf.io.files import scratch_folder, sha256
from parkf.io.option_types import FormsName
from parkf.model.codegen.numpy_step import NumpyStep, numpy_step
from parkf.model.steps import FORMS, Step
from parkf.training.extrapolation import fit_extrapolation
from parkf.training.magnet_hop import loss_before_bend, through_magnet
from parkf.training.magnet_table import MagnetTable, load_table
from parkf.training.minimise import F64, Fits
from parkf.training.neighbour import Neighbour
from parkf.training.noise import fit_noise
from parkf.training.result import FitResult, Minimum, Part, PartResult, SetResult, footer, join_parts
from parkf.training.rows import SAMPLE, Rows, StoredRows, read_batches, residuals, store_sets
from parkf.training.spread import Spreads, residual_profiles

# A function of rows: σ of each component and correlations, (n,) each.
Noise = Callable[[Rows], dict[str, F64]]
# Fewer rows do not determine a dozen parameters and their errors.
FEWEST_ROWS_OF_A_SET = 100


def train_step(
    dataset: Path,
    step: str,
    *,
    forms: FormsName,
    table: Path | None = None,
    neighbour: Neighbour | None = None,
    workers: int = 1,
) -> FitResult:
    """Fit all parameter sets of a step to its dataset, both polarities together.

    UTTF needs the magnet table. With a neighbour, the fit of a similar detector, the search for each minimum
    begins at the neighbour's. This moves the results by a few per cent of an error at most. Equal inputs lead
    to equal results, with any number of processes, `workers`. TMPDIR needs
    :func:`parkf.training.rows.scratch_bytes` meanwhile.

    A ParkfError is raised when the step does not exist, UTTF comes without a table, a set has too few rows,
    or a fit is invalid.
    """
    whole = Part(1, 1)
    only = train_part(dataset, step, whole, forms=forms, table=table, neighbour=neighbour, workers=workers)
    return join_parts([only], dataset)


def train_part(
    dataset: Path,
    step: str,
    part: Part,
    *,
    forms: FormsName,
    table: Path | None = None,
    neighbour: Neighbour | None = None,
    workers: int = 1,
) -> PartResult:
    """Fit the parameter sets of one of several parts of a step; the rest as of :func:`train_step`."""
    steps = FORMS[forms].steps
    if step not in steps:
        raise ParkfError(f"step '{step}' does not exist, expected one of {', '.join(steps)}")
    if (step == "UTTF") != (table is not None):
        raise ParkfError(f"step {step}: a magnet table is needed for UTTF and for no other step")
    magnet = load_table(table) if table else None
    if magnet is not None and magnet.form is not FORMS[forms].table:
        raise ParkfError(
            f"{table}: a magnet table of other forms than '{forms}'; train it with `--forms {forms}`"
        )
    numbers, joined = part.of(steps[step]), steps[step].joined
    # One thread for linear algebra, so that sums have the same order on any machine.
    with threadpool_limits(1):
        sets = train_rows(
            read_batches(dataset, range(joined * numbers.start, joined * numbers.stop)),
            steps[step],
            numbers=numbers,
            table=magnet,
            neighbour=neighbour,
            where=str(dataset),
            workers=workers,
        )
    return PartResult(
        forms=forms,
        step=step,
        formula=steps[step].formula_hash(),
        footer=footer(dataset),
        table=sha256(table) if table else None,
        start=neighbour.fingerprint if neighbour else None,
        first=numbers.start,
        sets=sets,
    )


def train_rows(
    batches: Iterable[Rows],
    step: Step,
    *,
    numbers: range | None = None,
    table: MagnetTable | None = None,
    neighbour: Neighbour | None = None,
    where: str = "rows",
    workers: int = 1,
) -> list[SetResult]:
    """Fit the parameter sets of these numbers, or all, to rows, batch by batch; see :func:`train_step`."""
    numbers = range(len(step.sets)) if numbers is None else numbers
    functions = numpy_step(step)
    results = []
    with scratch_folder() as folder:
        stored = store_sets(batches, numbers, step.joined, Path(folder))
        for number, rows in zip(numbers, stored, strict=True):
            label = step.sets[number]
            name = f"{where}: step {step.name}, set {number} ({label})"
            if len(rows) < FEWEST_ROWS_OF_A_SET:
                raise ParkfError(
                    f"{name}: {len(rows)} rows, expected at least {FEWEST_ROWS_OF_A_SET}; use more events"
                )
            near = None if neighbour is None else neighbour.values[number]
            results.append(_train_set(functions, rows, label, table, near, name, workers))
    return results


def _train_set(
    functions: NumpyStep,
    rows: StoredRows,
    label: str,
    table: MagnetTable | None,
    near: F64 | None,
    where: str,
    workers: int,
) -> SetResult:
    step = functions.step
    start = np.array([parameter.start for parameter in step.parameters])
    start[list(step.indices("loss"))] = mean_energy_loss(rows)
    if table is not None:
        start[list(step.indices("loss"))] = loss_before_bend(functions, table, rows, start)
        rows = rows.through_magnet(lambda block: through_magnet(functions, table, block, start))
    fits = Fits(rows, len(start), where, workers)
    values, minima = fit_extrapolation(functions, fits, start, near)
    values, noise_minima = fit_noise(functions, fits, values, near)
    spreads = Spreads()
    add_residuals(spreads, functions, values, rows, partial(functions.noise, values) if step.noise else None)
    return SetResult(
        label=label,
        rows=len(rows),
        values=values.tolist(),
        errors=parameter_errors(len(values), [*minima, *noise_minima]),
        minima=[*minima, *noise_minima],
        accuracy=spreads.figures(),
        truth_width=spreads.truth_width(),
        profiles=residual_profiles(functions, values, rows),
    )


def mean_energy_loss(rows: StoredRows) -> float:
    """Mean loss in MeV between production and the origin of the step, without the 1% that lost most.

    No mean describes the tracks with the rare large losses of a Landau distribution.
    """
    largest = np.quantile(_energy_loss(rows.sample(SAMPLE)), 0.99)
    total, count = 0.0, 0
    for block in rows.blocks():
        loss = _energy_loss(block)
        kept = loss[loss <= largest]
        total, count = total + float(kept.sum()), count + len(kept)
    return total / count


def _energy_loss(rows: Rows) -> F64:
    loss: F64 = 1 / np.abs(rows["qop"]) - rows["p_true"]
    return loss


def add_residuals(
    spreads: Spreads, functions: NumpyStep, p: F64, rows: StoredRows, noise: Noise | None
) -> None:
    """Add the residuals of a step with parameters `p`, in units of its own or another step's scattering."""
    for block in rows.blocks():
        predicted = functions.predict(p, block)
        delta, truth = residuals(predicted, block, "e"), residuals(predicted, block, "1")
        spreads.add(block["qop"], delta, truth, noise(block) if noise else None)


def parameter_errors(count: int, minima: list[Minimum]) -> list[float | None]:
    """Return the errors of all parameters of a set from its minima; None where none determined one."""
    errors: list[float | None] = [None] * count
    for minimum in minima:
        for name, error in zip(minimum.names, minimum.errors, strict=True):
            if name.startswith("p") and name[1:].isdigit():
                errors[int(name[1:])] = error
    return errors
