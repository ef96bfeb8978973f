"""Profiles of residuals that are put in by hand."""

import numpy as np
import pytest

from parkf.model.codegen.numpy_step import numpy_step
from parkf.model.steps import FORMS
from parkf.training.rows import COMPONENTS, KEPT, StoredRows
from parkf.training.spread import SLICES, VARIABLES, residual_profiles

SEED = 8
N = 40_000


@pytest.fixture
def step():
    functions = numpy_step(FORMS["production"].steps["V"])
    return functions, np.array([parameter.start for parameter in functions.step.parameters])


@pytest.fixture
def rows(step, tmp_path):
    """Rows in which Runge–Kutta differs from the form only in y, where it is lower by 100·tx scatterings."""
    print(f"seed {SEED}")
    random = np.random.default_rng(SEED)
    functions, p = step
    block = {name: np.zeros(N) for name in KEPT}
    block |= {"x0": random.normal(0, 5, N), "y0": random.normal(0, 5, N), "tx0": random.uniform(-0.1, 0.1, N)}
    block |= {
        "ty0": random.normal(0, 0.05, N),
        "qop": random.choice([-1, 1], N) / random.uniform(2e3, 5e4, N),
    }
    block |= {"z1": np.full(N, 25.0), "polarity": np.ones(N), "set": np.zeros(N)}
    predicted, sigma = functions.predict(p, block), functions.noise(p, block)
    for c, name in enumerate(COMPONENTS):
        block[f"{name}e"] = predicted[c] - (100 * block["tx0"] * sigma["y"] if name == "y" else 0)
    stored = StoredRows(tmp_path / "rows")
    stored.append({name: block[name] for name in KEPT})
    return stored


def test_a_missing_term_shows_in_its_variable_and_component_only(step, rows):
    profiles = {one.variable: one for one in residual_profiles(*step, rows)}
    assert tuple(profiles) == VARIABLES
    by_tx = profiles["tx"]
    centres = (np.array(by_tx.edges)[1:] + np.array(by_tx.edges)[:-1]) / 2
    assert np.allclose(by_tx.mean["y"], 100 * centres, atol=0.05)
    assert np.allclose(by_tx.mean["x"], 0, atol=1e-9)
    rms = 100 * 0.1 / np.sqrt(3)
    for name in ("p", "x", "y", "ty"):
        assert len(profiles[name].mean["y"]) == SLICES
        assert np.allclose(profiles[name].mean["y"], 0, atol=5 * rms / np.sqrt(N / SLICES))
        assert np.allclose(profiles[name].rms["y"], rms, rtol=0.1)
