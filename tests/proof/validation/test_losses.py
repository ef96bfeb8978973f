"""Lost tracks are counted by momentum, those below the other figures' threshold too."""

import pytest
from samples import make_sample

from parkf.proof.validation.losses import losses


def test_losses_by_momentum():
    sample = make_sample(n=4000, ghosts=500)
    rows = sample.rows
    rows.loc[:199, "p_true"] = 1700.0
    rows.loc[:49, "status"] = 64
    rows.loc[100:109, "pdg_id"] = 11  # electrons count for nothing
    rows.loc[4000:, "status"] = 64  # neither do ghosts
    found = {one["p_min"]: one for one in losses(sample)}
    assert found[1.5]["n"] == 190
    assert found[1.5]["lost"] == pytest.approx(50 / 190)
    assert found[1.5]["lost_error"] == pytest.approx((0.2644 * 0.7356 / 190) ** 0.5, rel=0.01)
    assert found[20.0]["lost"] == 0.0
    assert 0 < found[20.0]["lost_error"] < 0.001
    assert 1.0 not in found
    assert [one["p_max"] for one in losses(sample)] == [2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0]
