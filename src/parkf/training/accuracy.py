"""``accuracy.json``: how far every form is from Runge–Kutta, in units of the scattering."""

from collections.abc import Callable, Sequence
from functools import partial
from operator import call
from pathlib import Path
from typing import Any

from parkf.io.files import read_json, scratch_folder
from parkf.io.workers import parallel_map
from parkf.model.codegen.numpy_step import BEFORE_COLUMNS, COLUMNS, numpy_step
from parkf.model.steps import FORMS, Forms
from parkf.model.steps.scifi import GAPS
from parkf.training import MOST_ROWS
from parkf.training.chain import measure_chain
from parkf.training.magnet_hop import Trained
from parkf.training.magnet_table import load_table
from parkf.training.result import BinAccuracy, FitResult, load_results
from parkf.training.rows import COMPONENTS, F64, Rows, StoredRows, read_batches, store_sets
from parkf.training.spread import Spreads, core_error
from parkf.training.train import add_residuals

# Names in the file of each set of the steps that scatter, and are measured set by set.
_MEASURED = {
    "V": ("V.forward", "V.backward"),
    "VUT": ("VUT",),
    "UT": tuple(f"UT.gap{gap % 3}{'.backward' if gap > 2 else ''}" for gap in range(6)),
    "UTTF": ("UTTF",),
}


def measure_accuracy(
    fits: Path, datasets: Path, table: Path, table_accuracy: Path, *, threads: int = 1
) -> dict[str, Any]:
    """Collect the accuracy of all steps, of steps in a row, and of the magnet table.

    All noise is the noise that was fitted to single steps. The noise in a parameter set is wider, by
    ``training.noise_scale`` (:mod:`parkf.training.fit_noise`).

    Folder `fits` has ``<step>.json`` of every step, and `datasets` the ``<step>.parquet`` that they were
    fitted to. The table is the one that the steps were fitted with. The closed table is not suitable, because
    it is trained to lead to the right q/p together with the later steps, and not to predict the state at
    z_out. `table_accuracy` is JSON of :func:`parkf.training.magnet_table.train.train_table`, or of the
    closure. Up to `threads` processes share the measurements.

    Return ``forms``, the name of the set of forms;
    ``steps.<step>.<component>``, a list of {p_min, p_max (GeV), mean, rms, q68, q99 (mm or rad),
    ratio_rms, truth_width, truth_width_error, n};
    ``chain.<component>``, the same from the last VELO hit to the first SciFi layer, against the truth and in
    units of the covariance predicted over all steps between;
    ``table.<region>``, a list of {p_min, p_max, component, q68, q99, n}, against the table's targets. Where
    the table is closed on the fit, ``table.targets`` describes the targets, and ``table.before`` has the same
    figures of the table that the steps were fitted with, against Runge–Kutta.
    """
    results = load_results(fits)
    forms = FORMS[results["UTTF"].forms]
    trained = Trained(forms, results, load_table(table), datasets)
    measurements: list[Callable[[], Any]] = [
        lambda: _collect(measure_chain(trained)),
        *(partial(_of_step, trained, name) for name in ("TFT", "T")),
    ]
    chain, *others = parallel_map(call, measurements, threads)
    # Fits have measured these steps already.
    steps = {
        label: _collect(one.accuracy)
        for name, labels in _MEASURED.items()
        for label, one in zip(labels, results[name].sets, strict=True)
    }
    for one in others:
        steps |= one
    return {
        "forms": forms.name,
        "steps": steps,
        "chain": chain,
        "table": read_json(table_accuracy),
    }


def _of_step(trained: Trained, name: str) -> dict[str, Any]:
    """Measure the sets of a step that are measured together, by their name in the file."""
    path, result, step = trained.dataset(name), trained.results[name], trained.forms.steps[name]
    scattering = trained.results["UTTF"].numbers[0]
    with scratch_folder() as folder:
        batches = read_batches(path, most=MOST_ROWS)
        rows = store_sets(batches, range(len(step.sets)), step.joined, Path(folder))
        return {
            label: _collect(_step_accuracy(trained.forms, result, rows, numbers, scattering))
            for label, numbers in _groups(name, step.joined).items()
        }


def _groups(step: str, joined: int) -> dict[str, Sequence[int]]:
    """Return the sets that are measured together, by their name in the file."""
    if step == "T":
        sides = 2 // joined
        return {f"T.gap{gap}": range(sides * gap, sides * (gap + 1)) for gap in range(GAPS)}
    return {step: [0]}


def _step_accuracy(
    forms: Forms, result: FitResult, rows: list[StoredRows], sets: Sequence[int], scattering: F64
) -> list[BinAccuracy]:
    """Measure the accuracy of several sets together.

    A step without noise is measured in units of the noise of UTTF, with its parameters `scattering`. Such a
    step has no standardised differences from the truth.
    """
    functions = numpy_step(forms.steps[result.step])
    spreads = Spreads()
    for number in sets:
        p = result.numbers[number]
        noise = partial(functions.noise, p) if functions.step.noise else partial(_magnets, forms, scattering)
        add_residuals(spreads, functions, p, rows[number], noise)
    figures = spreads.figures()
    if functions.step.noise:
        return figures
    return [figure.model_copy(update={"truth_width": None}) for figure in figures]


def _magnets(forms: Forms, p: F64, rows: Rows) -> dict[str, F64]:
    """Compute UTTF's scattering for rows at z_out; their unknown origins are replaced by the states there."""
    begins = {name: rows[column] for name, column in zip(BEFORE_COLUMNS, COLUMNS, strict=False)}
    return numpy_step(forms.steps["UTTF"]).noise(p, {**rows, **begins})


def _collect(bins: list[BinAccuracy]) -> dict[str, list[dict[str, Any]]]:
    collected: dict[str, list[dict[str, Any]]] = {name: [] for name in COMPONENTS}
    for one in bins:
        error = None if one.truth_width is None else core_error(one.truth_width, one.n)
        figures = one.model_dump(exclude={"component"}) | {"truth_width_error": error}
        collected[one.component].append(figures)
    return collected
