"""The covariance over several steps is the spread of tracks that scatter in each of them."""

from pathlib import Path

import numpy as np
import pytest
from toy_steps import COMPONENTS, STEPS, draw, no_field, result_of, truth, write

from parkf.model.codegen.numpy_step import numpy_step
from parkf.model.steps import FORMS
from parkf.training.chain import _ut_layers, measure_chain
from parkf.training.magnet_hop import Trained

UT_LAYERS = (2327.5, 2372.5, 2597.5, 2642.5)
Z_IN, Z_OUT, SCIFI = 2665.0, 7826.0, 7836.0
COUNT = 30_000


def _parameters(name, stretch=1.0):
    """Parameters of a step without a field, whose widths are stretched."""
    p = truth(name)
    for i, parameter in enumerate(STEPS[name].parameters):
        if parameter.kind == "extrapolation" and parameter.parity == -1:
            p[i] = 0.0
        if parameter.kind == "noise" and parameter.unit != "1" and "growth" not in parameter.text:
            p[i] *= stretch
    return p


@pytest.fixture(scope="module")
def datasets(tmp_path_factory):
    """Tracks that scatter from step to step, as datasets of the first step and the last."""
    folder = tmp_path_factory.mktemp("chain")
    random = np.random.default_rng(5)
    rows = draw("VUT", COUNT, 5, truth("VUT"))
    for c in ("x", "y"):
        rows[f"{c}0"] = rows[f"{c}0"] * 0.7
        rows[f"t{c}0"] = rows[f"t{c}0"] * 0.7
    write(rows, folder / "VUT.parquet")
    ut = draw("UT", 600, 1, truth("UT"))
    gap = ut["set"] % 3
    ut["z0"], ut["z1"] = np.array(UT_LAYERS)[gap], np.array(UT_LAYERS)[gap + 1]
    write(ut, folder / "UT.parquet")

    def go(name, z, scatters=True):
        step, p = numpy_step(STEPS[name]), _parameters(name)
        now = {**rows, "z1": np.full(COUNT, z)}
        state = dict(zip(COMPONENTS, step.predict(p, now), strict=True))
        if scatters:
            noise = step.noise(p, now)
            for c in ("x", "y"):
                a, b = random.normal(size=(2, COUNT))
                rho = noise[f"rho_{c}"]
                state[f"t{c}"] = state[f"t{c}"] + noise[f"t{c}"] * a
                state[c] = state[c] + noise[c] * (rho * a + np.sqrt(1 - rho**2) * b)
        rows.update({f"{c}0": state[c] for c in COMPONENTS} | {"z0": now["z1"]})

    go("VUT", UT_LAYERS[0])
    for z in UT_LAYERS[1:]:
        go("UT", z)
    go("UT", Z_IN, scatters=False)
    begins = {f"{c}_in": rows[f"{c}0"] for c in COMPONENTS}
    for c in ("x", "y"):
        rows[f"{c}0"] = rows[f"{c}0"] + (Z_OUT - Z_IN) * rows[f"t{c}0"]
    rows.update(begins)
    rows["z0"] = np.full(COUNT, Z_OUT)
    go("UTTF", Z_OUT)
    go("TFT", SCIFI, scatters=False)
    rows |= {f"{c}1": rows[f"{c}0"] for c in COMPONENTS} | {"z1": np.full(COUNT, SCIFI)}
    shuffled = {name: column[::-1] for name, column in rows.items()}
    write(shuffled, folder / "TFT.parquet")
    return folder


@pytest.mark.parametrize("stretch", [1.0, 1.25])
def test_widths_over_all_steps(datasets, stretch):
    results = {name: result_of(name, _parameters(name, stretch)) for name in ("VUT", "UT", "UTTF", "TFT")}
    figures = measure_chain(Trained(FORMS["improved"], results, no_field(), datasets))
    assert {f.component for f in figures} == set(COMPONENTS)
    for component in COMPONENTS:
        widths = [f.truth_width for f in figures if f.component == component]
        assert np.mean(widths) == pytest.approx(1 / stretch, rel=0.02)


def test_layers_are_where_the_first_hop_of_each_gap_begins_and_ends(monkeypatch):
    """Hops 3 to 5 go backwards, and later hops begin elsewhere, because layers lean."""
    parts = (
        {"set": [1, 4, 0, 0], "z0": [2372.5, 2597.5, 2327.5, 2328.0], "z1": [2597.5, 2372.5, 2372.5, 2373.0]},
        {"set": [0, 2, 1], "z0": [2329.0, 2597.5, 2374.0], "z1": [2374.0, 2642.5, 2599.0]},
    )
    rows = [{name: np.array(values) for name, values in part.items()} for part in parts]
    monkeypatch.setattr("parkf.training.chain.read_batches", lambda path, sets: iter(rows))
    assert _ut_layers(Path("UT.parquet")) == list(UT_LAYERS)
