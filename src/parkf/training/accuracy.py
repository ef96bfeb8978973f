"""``accuracy.json``: how far every form is from Runge–Kutta, in units of the scattering."""

from collections.abc import Callable
from functools import partial
from operator import call
from pathlib import Path
from typing import Any

from parkf.io.files import read_json, scratch_folder
from parkf.io.workers import parallel_map
from parkf.model.codegen.numpy_step import BEFORE_COLUMNS, COLUMNS, numpy_step
from parkf.model.steps import FORMS
from parkf.model.steps.scifi import GAPS
from parkf.training import MOST_ROWS
from parkf.training.chain import measure_chain
from parkf.training.magnet_hop import Trained
from parkf.training.magnet_table import load_table
from parkf.training.result import BinAccuracy, load_results
from parkf.training.rows import COMPONENTS, F64, Rows, read_batches, store_sets
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
    """Measure the sets of a step that are measured together, by their name in the file.

    A step without noise is measured in units of the noise of UTTF. Such a step has no standardised
    differences from the truth.
    """
    step, numbers = trained.forms.steps[name], trained.results[name].numbers
    functions, sides = numpy_step(step), max(1, len(step.sets) // GAPS)
    found = {}
    with scratch_folder() as folder:
        batches = read_batches(trained.dataset(name), most=MOST_ROWS)
        rows = store_sets(batches, range(len(step.sets)), step.joined, Path(folder))
        for gap in range(len(step.sets) // sides):
            spreads = Spreads()
            for number in range(sides * gap, sides * (gap + 1)):
                p = numbers[number]
                noise = partial(functions.noise, p) if step.noise else partial(_magnets, trained)
                add_residuals(spreads, functions, p, rows[number], noise)
            truth = {} if step.noise else {"truth_width": None}
            label = f"{name}.gap{gap}" if name == "T" else name
            found[label] = _collect([one.model_copy(update=truth) for one in spreads.figures()])
    return found


def _magnets(trained: Trained, rows: Rows) -> dict[str, F64]:
    """Compute UTTF's scattering for rows at z_out; their unknown origins are replaced by the states there."""
    functions, p = trained.step("UTTF", 0)
    begins = {name: rows[column] for name, column in zip(BEFORE_COLUMNS, COLUMNS, strict=False)}
    return functions.noise(p, {**rows, **begins})


def _collect(bins: list[BinAccuracy]) -> dict[str, list[dict[str, Any]]]:
    collected: dict[str, list[dict[str, Any]]] = {name: [] for name in COMPONENTS}
    for one in bins:
        error = None if one.truth_width is None else core_error(one.truth_width, one.n)
        figures = one.model_dump(exclude={"component"}) | {"truth_width_error": error}
        collected[one.component].append(figures)
    return collected
