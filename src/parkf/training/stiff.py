"""Distance of the forms from Runge–Kutta at 1 TeV, in float64 and as float32 computes it.

At that momentum δ_par is a hundredth of its value at 10 GeV, so that the rounding of float32 is visible
beside it.
"""

from pathlib import Path

import numpy as np

from parkf.detector.field import FieldMap
from parkf.detector.transport import propagate
from parkf.model.codegen.numpy_step import NumpyStep, numpy_step
from parkf.model.steps import Step
from parkf.training.magnet_hop import through_magnet
from parkf.training.minimise import F64
from parkf.training.rows import COMPONENTS, MOST_ROWS, Rows, read_batches, select
from parkf.training.trained import Trained

MOMENTUM = 1e6  # MeV
# MeV; softer tracks are bent to positions that no stiff track reaches.
LEAST = 20e3
# Number of rows of a set, the stiffest ones.
LARGEST = 2000
TOLERANCE = 1e-6  # mm; of a Runge–Kutta step, far below the micrometre asked for


def measure_stiff(trained: Trained, field: FieldMap) -> dict[str, dict[str, dict[str, float]]]:
    """Measure |δ_par| of every step at 1 TeV, with the origins of the stiffest tracks of its dataset.

    The field is that of the datasets. Return, by ``<step>.<component>``, ``q99`` and ``largest`` of
    |δ_par|, and ``float32_q99`` and ``float32_largest`` of what float32 computes, in mm or rad. The magnet
    table is evaluated in float64: only the fitter evaluates it in float32.
    """
    figures = {}
    for name in ("V", "VUT", "UT", "UTTF", "TFT", "T"):
        step = numpy_step(trained.forms.steps[name])
        parts: list[tuple[F64, F64]] = []
        for number, rows in _stiff(trained.dataset(name), step, field):
            _, p = trained.step(name, number)
            if name == "UTTF":
                rows = through_magnet(step, trained.table, rows, p)
            target = np.stack([rows[f"{c}e"] for c in COMPONENTS])
            precise = np.stack(step.predict(p, rows)) - target
            parts.append((precise, np.stack(step.predict(p, rows, np.float32)) - target))
        precise, single = (np.abs(np.concatenate(part, axis=1)) for part in zip(*parts, strict=True))
        figures[name] = {
            c: {
                "q99": float(np.quantile(precise[i], 0.99)),
                "largest": float(precise[i].max()),
                "float32_q99": float(np.quantile(single[i], 0.99)),
                "float32_largest": float(single[i].max()),
            }
            for i, c in enumerate(COMPONENTS)
        }
    return figures


def _stiff(path: Path, step: NumpyStep, field: FieldMap) -> list[tuple[int, Rows]]:
    """Rows of each set with q/p of 1 TeV, carried to their targets anew."""
    chosen = []
    for number, part in enumerate(_stiffest(path, step.step)):
        qop = np.sign(part["qop"]) / MOMENTUM
        start = np.column_stack([*(part[f"{c}0"] for c in COMPONENTS), qop])
        good = np.ones(len(qop), bool)
        for polarity in (-1, 1):
            of = np.flatnonzero(part["polarity"] == polarity)
            plane = (part["z1"][of], np.zeros(len(of)), np.zeros(len(of)))
            moved = propagate(field, polarity, start[of], part["z0"][of], plane, tolerance=TOLERANCE)
            for i, c in enumerate(COMPONENTS):
                part[f"{c}e"][of] = moved.states[:, i]
            good[of] = moved.ok
        part |= {"qop": qop, "p_true": np.full(len(qop), MOMENTUM)}
        chosen.append((number, select(part, good)))
    return chosen


def _stiffest(path: Path, step: Step) -> list[Rows]:
    """Rows of each set, the stiffest first; memory holds no more of them than are wanted."""
    stiffest: list[Rows] = []
    for batch in read_batches(path, most=MOST_ROWS):
        hard = select(batch, np.abs(batch["qop"]) < 1 / LEAST)
        several = [select(hard, hard["set"] // step.joined == number) for number in range(len(step.sets))]
        if stiffest:
            several = [_together(*pair) for pair in zip(stiffest, several, strict=True)]
        order = [np.argsort(np.abs(rows["qop"]), kind="stable")[:LARGEST] for rows in several]
        stiffest = [select(rows, first) for rows, first in zip(several, order, strict=True)]
    return stiffest


def _together(one: Rows, other: Rows) -> Rows:
    return {name: np.concatenate([one[name], other[name]]) for name in one}
