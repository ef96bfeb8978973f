"""``accuracy.json``: how far every form is from Runge–Kutta, in units of the scattering it adds to."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from parkf.codegen.numpy_step import numpy_step
from parkf.errors import ParkfError
from parkf.files import read_json, sha256
from parkf.steps import FORMS, Forms
from parkf.training.minimise import F64
from parkf.training.momentum import FEWEST_ROWS, momentum_bins
from parkf.training.result import BinAccuracy, FitResult, load_results
from parkf.training.rows import COMPONENTS, Rows, load_rows, runge_kutta_residual, select, truth_residual
from parkf.training.train import bin_accuracy

_FIELDS = ("p_min", "p_max", "rms", "q68", "q99", "ratio_rms", "n")


def measure_accuracy(fits: Path, datasets: Path, table_accuracy: Path) -> dict[str, Any]:
    """Collect the accuracy of all steps and of the magnet table.

    Parameters
    ----------
    fits : Path
        Folder with ``<step>.json`` of every step.
    datasets : Path
        Folder with the ``<step>.parquet`` that they were fitted to.
    table_accuracy : Path
        JSON of :func:`parkf.training.magnet_table.train_table`.

    Returns
    -------
    dict
        ``steps.<step>.<component>``: list of {p_min, p_max (GeV), rms, q68, q99 (mm or rad), ratio_rms, n};
        ``table.<region>``: list of {p_min, p_max, component, q68, q99, n}.

    Raises
    ------
    ParkfError
        When a file is missing or unreadable, or a dataset is not the one that was fitted.
    """
    results = load_results(fits)
    forms = FORMS[results["UTTF"].forms]
    scattering = np.array(results["UTTF"].sets[0].values)
    steps: dict[str, Any] = {}
    for name in ("V", "VUT", "UT", "TFT", "T"):
        path = datasets / f"{name}.parquet"
        if sha256(path) != results[name].dataset:
            raise ParkfError(
                f"{path}: not the dataset that {fits / f'{name}.json'} was fitted to; fit it again"
            )
        rows = load_rows(path)
        for label, numbers in _groups(name, forms.steps[name].joined):
            steps[label] = _collect(_step_accuracy(forms, results[name], rows, numbers, scattering))
    # The hop through the magnet was measured when it was fitted, with the table at hand.
    steps["UTTF"] = _collect(results["UTTF"].sets[0].accuracy)
    return {"steps": steps, "table": read_json(table_accuracy)}


def _groups(step: str, joined: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Names in the file, and the sets that they put together."""
    if step == "V":
        yield from (("V.forward", (0,)), ("V.backward", (1,)))
    elif step == "UT":
        yield from ((f"UT.gap{gap}", (gap,)) for gap in range(3))
        yield from ((f"UT.gap{gap}.backward", (gap + 3,)) for gap in range(3))
    elif step == "T":
        yield from (
            (f"T.gap{gap}", tuple(range(2 * gap // joined, (2 * gap + 1) // joined + 1))) for gap in range(11)
        )
    else:
        yield step, (0,)


def _step_accuracy(
    forms: Forms, result: FitResult, rows: Rows, sets: tuple[int, ...], scattering: F64
) -> Iterator[BinAccuracy]:
    """Accuracy of several sets together; a step without noise is measured in UTTF's, with p `scattering`."""
    functions = numpy_step(forms.steps[result.step])
    noise = functions if functions.step.noise else numpy_step(forms.steps["UTTF"])
    parts: dict[str, list[F64]] = {name: [] for name in ("qop", *COMPONENTS)}
    for number in sets:
        of_set = select(rows, rows["set"] // functions.step.joined == number)
        p = np.array(result.sets[number].values)
        predicted = functions.predict(p, of_set)
        sigma = noise.noise(p if noise is functions else scattering, of_set)
        parts["qop"].append(of_set["qop"])
        for c in COMPONENTS:
            delta, truth = (r(predicted, of_set, c) for r in (runge_kutta_residual, truth_residual))
            parts[c].append(np.stack([delta, truth, sigma[c]]))
    qop = np.concatenate(parts["qop"])
    for c in COMPONENTS:
        columns = np.concatenate(parts[c], axis=1)
        for low, high, mask in momentum_bins(qop):
            if mask.sum() >= FEWEST_ROWS:
                yield bin_accuracy(low, high, c, *columns[:, mask])


def _collect(bins: Iterator[BinAccuracy] | list[BinAccuracy]) -> dict[str, list[dict[str, Any]]]:
    collected: dict[str, list[dict[str, Any]]] = {name: [] for name in COMPONENTS}
    for one in bins:
        collected[one.component].append({name: getattr(one, name) for name in _FIELDS})
    return collected
