"""Distance of the forms from Runge–Kutta at 1 TeV, computed in float64 and in float32.

At that momentum δ_par is a hundredth of its value at 10 GeV, so that the rounding of float32 is visible
beside it.
"""

from pathlib import Path

import numpy as np

from parkf.detector.field import FieldMap
from parkf.io.events import concatenate, select
from parkf.model.steps import Step
from parkf.training import MOST_ROWS
from parkf.training.datasets.carry import with_target
from parkf.training.magnet_hop import Trained
from parkf.training.rows import COMPONENTS, Rows, read_batches, residuals

MOMENTUM = 1e6  # MeV
# MeV; softer tracks are bent to positions that no stiff track reaches.
LEAST = 20e3
# Number of rows of a set that are used: the stiffest ones.
LARGEST = 2000


def measure_stiff(trained: Trained, field: FieldMap) -> dict[str, dict[str, dict[str, float]]]:
    """Measure |δ_par| of every step at 1 TeV, with the origins of the stiffest tracks of its dataset.

    The field is that of the datasets. Return, by ``<step>.<component>``, ``q99`` and ``largest`` of
    |δ_par|, and ``float32_q99`` and ``float32_largest`` of the same in float32, in mm or rad. The magnet
    table is evaluated in float64: only the fitter evaluates it in float32.
    """
    figures: dict[str, dict[str, dict[str, float]]] = {}
    for name in ("V", "VUT", "UT", "UTTF", "TFT", "T"):
        precise, single = [], []
        for number, rows in enumerate(_stiffest(trained.dataset(name), trained.forms.steps[name])):
            functions, p = trained.step(name, number)
            rows = trained.begin(name, number, _at_1_tev(rows, field))
            precise.append(residuals(functions.predict(p, rows), rows, "e"))
            single.append(residuals(functions.predict(p, rows, np.float32), rows, "e"))
        figures[name] = {c: {} for c in COMPONENTS}
        for prefix, delta in (("", concatenate(precise)), ("float32_", concatenate(single))):
            for c in COMPONENTS:
                figures[name][c][f"{prefix}q99"] = float(np.quantile(np.abs(delta[c]), 0.99))
                figures[name][c][f"{prefix}largest"] = float(np.abs(delta[c]).max())
    return figures


def _at_1_tev(rows: Rows, field: FieldMap) -> Rows:
    """Return rows with the same origins at 1 TeV; steps to their targets are accurate to a nanometre."""
    charge = np.sign(rows["qop"])
    rows = rows | {"charge": charge, "qop": charge / MOMENTUM, "p_true": np.full(len(charge), MOMENTUM)}
    return with_target(rows, field, tolerance=1e-6)[0]


def _stiffest(path: Path, step: Step) -> list[Rows]:
    """Return the stiffest rows of each set, the stiffest first; memory holds few more than these."""
    stiffest: list[Rows] = []
    for batch in read_batches(path, most=MOST_ROWS):
        hard = select(batch, np.abs(batch["qop"]) < 1 / LEAST)
        several = [select(hard, hard["set"] // step.joined == number) for number in range(len(step.sets))]
        if stiffest:
            several = [concatenate(pair) for pair in zip(stiffest, several, strict=True)]
        order = [np.argsort(np.abs(rows["qop"]), kind="stable")[:LARGEST] for rows in several]
        stiffest = [select(rows, first) for rows, first in zip(several, order, strict=True)]
    return stiffest
