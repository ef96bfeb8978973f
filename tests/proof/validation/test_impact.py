"""Impact parameters of straight tracks with known errors."""

import numpy as np
import pandas as pd
import pytest

from parkf.proof.validation.impact import EDGES, impact_parameters

SEED = 5
N = 40_000


@pytest.fixture
def tracks():
    """Tracks measured 100 mm before their vertices; position and slope are correlated."""
    print(f"seed {SEED}")
    random = np.random.default_rng(SEED)
    rows = pd.DataFrame({"z": np.zeros(N), "true_z": 100.0})
    pt = 1000 / random.uniform(0.05, 2.9, N)
    rows["true_tx"], rows["true_ty"] = random.normal(0, 0.03, (2, N))
    slope = np.hypot(rows.true_tx, rows.true_ty)
    rows["p_true"] = pt * np.sqrt(1 + slope**2) / slope
    for axis, sigma_x, sigma_t, rho in (("x", 0.02, 3e-4, -0.5), ("y", 0.03, 1e-4, 0.3)):
        a, b = random.normal(size=(2, N))
        rows[f"true_{axis}"] = random.normal(0, 1, N)
        rows[axis] = rows[f"true_{axis}"] + sigma_x * a
        rows[f"t{axis}"] = rows[f"true_t{axis}"] + sigma_t * (rho * a + np.sqrt(1 - rho**2) * b)
        rows[axis * 2], rows[f"t{axis}t{axis}"] = sigma_x**2, sigma_t**2
        rows[f"{axis}t{axis}"] = rho * sigma_x * sigma_t
    return rows


def test_errors_are_carried_to_the_vertex(tracks):
    bins = impact_parameters(tracks)
    assert [one["low"] for one in bins] == list(EDGES[:-1])
    expected = {
        "x": np.hypot(0.02 - 0.5 * 0.03, 0.03 * np.sqrt(0.75)),
        "y": np.hypot(0.033, 0.01 * np.sqrt(0.91)),
    }
    for one in bins:
        for axis, width in expected.items():
            assert one[axis] == pytest.approx(width, abs=5 * one[f"{axis}_error"])
            assert one[f"pull_{axis}"] == pytest.approx(1, abs=5 * one[f"pull_{axis}_error"])
