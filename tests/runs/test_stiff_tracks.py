"""A form's error vanishes with q/p, and stays far below the scattering, which falls as 1/p."""

import numpy as np
import pytest

from parkf.detector.field import FieldMap
from parkf.detector.transport import propagate
from parkf.io.tables import STEP_DATA
from parkf.model.codegen.numpy_step import numpy_step
from parkf.model.steps import FORMS
from parkf.training.magnet_hop import through_magnet
from parkf.training.magnet_table import load_table
from parkf.training.result import FitResult

STEPS = [name for name in FORMS["improved"].steps if name != "BEAM"]


def missed(results, name, momentum, at_least=2e4):
    """RMS of form − Runge–Kutta in x, y (mm), tx, ty, of the worst set, with all rows at one momentum (MeV).

    Only rows above `at_least` (MeV) are used: softer tracks reach places to which none of 1 TeV is bent.
    """
    table = STEP_DATA.open(results / f"datasets/{name}.parquet").read()
    rows = {column: table.column(column).to_numpy() for column in table.column_names}
    stiff = np.abs(1 / rows["qop"]) > at_least
    rows = {column: values[stiff][:: 1 + stiff.sum() // 10_000] for column, values in rows.items()}
    fit = FitResult.load(results / f"fits/{name}.json")
    step = FORMS[fit.forms].steps[name]
    functions = numpy_step(step)
    field = FieldMap.load(results / "field.npz")
    largest = np.zeros(4)
    for number, one in enumerate(fit.sets):
        p = np.array(one.values)
        for polarity in (-1, +1):
            here = (rows["set"] // step.joined == number) & (rows["polarity"] == polarity)
            chosen = {column: values[here].astype(float) for column, values in rows.items()}
            # `p_true` is the momentum at the step's origin; `qop` is for the momentum at production.
            loss = p[list(step.indices("loss"))].sum()
            chosen["qop"] = np.sign(chosen["qop"]) / (momentum + loss)
            chosen["p_true"] = np.full(len(chosen["qop"]), momentum)
            states = [chosen[f"{c}0"] for c in ("x", "y", "tx", "ty")]
            exact = propagate(
                field,
                polarity,
                np.column_stack([*states, np.sign(chosen["qop"]) / momentum]),
                chosen["z0"],
                (chosen["z1"], 0.0, 0.0),
                tolerance=1e-7,
            )
            chosen |= {f"{c}e": exact.states[:, i] for i, c in enumerate(("x", "y", "tx", "ty"))}
            if step.local_qop is not None:
                chosen = through_magnet(functions, load_table(results / "table/table.npz"), chosen, p)
            delta = [
                v - chosen[f"{c}e"]
                for v, c in zip(functions.predict(p, chosen), ("x", "y", "tx", "ty"), strict=True)
            ]
            largest = np.maximum(largest, [np.sqrt(np.mean(d**2)) for d in delta])
    return largest


@pytest.mark.parametrize("name", STEPS)
def test_forms_are_exact_for_stiff_tracks(finished, name):
    results = finished.folder / "results/smoke"
    at_1_tev, at_10_tev = (missed(results, name, momentum) for momentum in (1e6, 1e7))
    assert (at_1_tev[:2] < 1e-3).all(), "mm"
    assert (at_1_tev[2:] < 5e-7).all()
    assert (at_10_tev <= 0.11 * at_1_tev + 1e-12).all()
