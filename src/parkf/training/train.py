"""The fit of one step, set by set: first p from the Runge–Kutta target, then p̃ from the truth."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from parkf.io.errors import ParkfError
from parkf.io.files import scratch_folder, sha256
from parkf.io.option_types import FormsName
from parkf.model.codegen.numpy_step import NumpyStep, numpy_step
from parkf.model.steps import FORMS, Step
from parkf.training.displaced import beside
from parkf.training.extrapolation import fit_extrapolation
from parkf.training.magnet_hop import loss_before_bend, through_magnet
from parkf.training.magnet_table import MagnetTable, load_table
from parkf.training.minimise import Fits
from parkf.training.noise import fit_noise
from parkf.training.result import FitResult, Minimum, SetResult
from parkf.training.rows import F64, SAMPLE, Rows, StoredRows, read_batches, residuals, store_sets
from parkf.training.spread import Spreads, residual_profiles

# The type of a function of rows that returns σ of each component, and correlations, (n,) each.
Noise = Callable[[Rows], dict[str, F64]]
# Fewer rows do not determine a dozen parameters and their errors.
FEWEST_ROWS = 100


def train_step(
    dataset: Path,
    step: str,
    *,
    forms: FormsName,
    table: Path | None = None,
    displaced: Sequence[Rows] | None = None,
    workers: int = 1,
) -> FitResult:
    """Fit all parameter sets of a step to its dataset, both polarities together.

    UTTF needs the magnet table. Steps that are `displaced` need rows of displaced tracks for each of their
    sets, of :func:`parkf.training.displaced.displaced_rows`.
    Rows of a user's own dataset are asked before, where a run adopts it
    (:mod:`parkf.training.datasets.checks`). Equal inputs lead to equal results, with any number of processes,
    `workers`. TMPDIR must have room for 150 to 320 bytes a row. A ParkfError reports a fit that is invalid.
    """
    own, magnet = FORMS[forms].steps[step], load_table(table) if table else None
    numbers = range(len(own.sets))
    # One thread for linear algebra, so that sums have the same order on any machine.
    with threadpool_limits(1), scratch_folder() as folder:
        stored = store_sets(read_batches(dataset), numbers, own.joined, Path(folder), workers)
        sets = train_sets(stored, own, numbers, table=magnet, displaced=displaced, where=str(dataset))
    return FitResult(
        forms=forms,
        step=step,
        formula=own.formula_hash(),
        table=sha256(table) if table else None,
        sets=sets,
        dataset=sha256(dataset),
    )


def train_sets(
    stored: Sequence[StoredRows],
    step: Step,
    numbers: range,
    *,
    table: MagnetTable | None = None,
    displaced: Sequence[Rows] | None = None,
    where: str = "rows",
) -> list[SetResult]:
    """Fit the parameter sets with these numbers to the rows of each; see :func:`train_step`."""
    functions = numpy_step(step)
    results = []
    found = any(len(rows) for rows in stored)
    for number, rows in zip(numbers, stored, strict=True):
        label = step.sets[number]
        name = f"{where}: step {step.name}, set {number} ({label})"
        if not len(rows) and found:
            results.append(_without_rows(step, label))
            continue
        if len(rows) < FEWEST_ROWS:
            raise ParkfError(f"{name}: {len(rows)} rows, expected at least {FEWEST_ROWS}; use more events")
        start = np.array([parameter.start for parameter in step.parameters])
        start[list(step.indices("loss"))] = mean_energy_loss(rows)
        if table is not None:
            start[list(step.indices("loss"))] = loss_before_bend(functions, table, rows, start)
            rows = rows.changed(partial(through_magnet, functions, table, p=start))
        fits = Fits(rows, len(start), name)
        followed = fits
        if displaced is not None:
            loss = float(start[list(step.indices("loss"))][0])
            followed = fits.on(beside(rows, displaced[number], loss))
        values, minima, note = fit_extrapolation(functions, followed, start)
        values, more = fit_noise(functions, fits, values)
        scatters = bool(step.noise)
        result = set_result(functions, label, rows, values, minima + more, scatters=scatters)
        results.append(result.model_copy(update={"note": note}))
    return results


def _without_rows(step: Step, label: str) -> SetResult:
    """Return the result of a set without rows, such as that of a layer that a detector lacks."""
    none: list[float | None] = [None] * len(step.parameters)
    return SetResult(
        label=label,
        note="all parameters fixed at zero: no rows",
        rows=0,
        values=[0.0] * len(none),
        errors=none,
    )


def set_result(
    functions: NumpyStep, label: str, rows: StoredRows, p: F64, minima: list[Minimum], *, scatters: bool
) -> SetResult:
    """Measure the accuracy of a fitted set; if its tracks scatter, also in units of the scattering."""
    spreads = Spreads()
    add_residuals(spreads, functions, p, rows, partial(functions.noise, p) if scatters else None)
    # Parameters that no minimum determined have no error.
    errors = {name: e for minimum in minima for name, e in zip(minimum.names, minimum.errors, strict=True)}
    return SetResult(
        label=label,
        rows=len(rows),
        values=p.tolist(),
        errors=[errors.get(f"p{i}") for i in range(len(p))],
        minima=minima,
        accuracy=spreads.figures(),
        profiles=residual_profiles(functions, p, rows) if scatters else [],
    )


def mean_energy_loss(rows: StoredRows) -> float:
    """Return the mean loss in MeV between production and the origin of the step.

    The 1% of tracks that lost most are left out: no mean describes the rare large losses of a Landau
    distribution.
    """
    largest = np.quantile(_energy_loss(rows.sample(SAMPLE)), 0.99)
    total, count = 0.0, 0
    for block in rows.blocks():
        loss = _energy_loss(block)
        kept = loss[loss <= largest]
        total, count = total + float(kept.sum()), count + len(kept)
    return total / count


def _energy_loss(rows: Rows) -> F64:
    return np.asarray(1 / np.abs(rows["qop"]) - rows["p_true"])


def add_residuals(
    spreads: Spreads, functions: NumpyStep, p: F64, rows: StoredRows, noise: Noise | None
) -> None:
    """Add the residuals of a step with parameters `p`; `noise` is the scattering of this or another step."""

    def of_stripe(stripe: range) -> Spreads:
        own = Spreads()
        for block in rows.blocks(stripe):
            predicted = functions.predict(p, block)
            delta, truth = residuals(predicted, block, "e"), residuals(predicted, block, "1")
            own.add(block["qop"], delta, truth, noise(block) if noise else None)
        return own

    for own in rows.by_stripe(of_stripe):
        spreads.extend(own)
