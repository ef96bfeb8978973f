"""Displaced SciFi mats."""

import numpy as np
import pytest

from parkf.io.tables import HITS
from parkf.simulation.response.misalignment import MAT_WIDTH, misalign_scifi, scifi_shifts

KEYS = ["event", "plane", "particle", "y", "z", "sigma"]


def test_shifts_have_the_widths_asked_for():
    both = scifi_shifts(module=0.08, mat=0.06, seed=1)
    assert both.std() == pytest.approx(0.1, rel=0.1)
    of_modules = both.reshape(12, 2, 16, 4).mean(3)
    assert of_modules.std() == pytest.approx(np.hypot(0.08, 0.03), rel=0.12)
    assert np.ptp(scifi_shifts(module=0.08, mat=0.0, seed=1).reshape(12, 2, 16, 4), axis=3).max() == 0
    assert not np.array_equal(both, scifi_shifts(module=0.08, mat=0.06, seed=2))


def test_only_scifi_hits_move_and_those_of_a_mat_together(tmp_path, collisions):
    path = tmp_path / "hits.parquet"
    misalign_scifi(collisions.paths["hits"], path, module=0.08, mat=0.06, seed=1)
    moved = HITS.open(path).read().to_pandas()
    assert (moved.groupby(["event", "plane"]).x.diff().dropna() >= 0).all()
    before = collisions.hits
    assert len(moved) == len(before)
    inner = before.plane < 58
    order = ["event", "plane", "x"]
    still = moved[moved.plane < 58].reset_index(drop=True)
    assert still.equals(before[inner].sort_values(order).reset_index(drop=True))

    one = before[~inner].merge(moved[moved.plane >= 58], on=KEYS, suffixes=("", "_moved"))
    # Noise of a layer may be matched with other noise, so only hits of particles are compared.
    one = one[(one.particle >= 0) & ~one.duplicated(KEYS, keep=False)]
    shift = one.x_moved - one.x
    mat = one.plane * 1000 + np.floor(one.x / MAT_WIDTH) + 500 * (one.y > 0)
    assert shift.groupby(mat).apply(np.ptp).max() < 1e-9
    assert shift.std() == pytest.approx(0.1, rel=0.15)
    # A mat that is displaced by +dx measures −dx. Below the beam is 0, above it is 1; mats count from −x on.
    shifts = scifi_shifts(module=0.08, mat=0.06, seed=1)
    above, number = (one.y > 0).astype(int), np.floor(one.x / MAT_WIDTH).astype(int) + 32
    np.testing.assert_allclose(shift, -shifts[one.plane - 58, above, number], rtol=0, atol=1e-9)
