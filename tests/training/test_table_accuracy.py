"""Each cell of a map of the table's misfit has the figures of its own rays."""

import numpy as np
import pytest

from parkf.model.layout import HEADER
from parkf.training.magnet_table.accuracy import table_accuracy
from parkf.training.magnet_table.rays import Rays
from parkf.training.spread import BINS


def test_a_map_has_the_misfit_of_each_place():
    """Each cell has the misfit that the table was given at its place."""
    count, z_in = 60_000, 2665.0
    random = np.random.default_rng(11)
    start = np.column_stack(
        [
            z_in * random.uniform(-0.3, 0.3, count),
            z_in * random.uniform(-0.25, 0.25, count),
            *np.zeros((2, count)),
        ]
    )
    # Rays of one corner are soft, all others stiff.
    corner = (start[:, 0] > 0.24 * z_in) & (start[:, 1] > 0.1875 * z_in)
    p = random.uniform(3.01, 4.99, count)
    p[~corner] = random.uniform(20.1, 49.9, np.sum(~corner))
    rays = Rays(start, np.zeros((count, 4)), 1e-3 / p)

    class Off:
        header = np.zeros(len(HEADER))
        header[HEADER.index("z_in")] = z_in

        def extrapolate(self, states, qop, scale):
            return np.column_stack(
                [states[:, 0], np.abs(states[:, 1]), -1e-6 * states[:, 0], 0 * states[:, 0]]
            )

    measured = table_accuracy(Off(), rays)
    # Places are flat in x; the missing corner moves the last per cent by half a per mille.
    (full,) = (f for f in measured["full"] if (f["p_min"], f["component"]) == (20.0, "x"))
    assert full["q68"] == pytest.approx(0.68 * 0.3 * z_in, rel=0.02)
    assert full["q99"] == pytest.approx(0.99 * 0.3 * z_in, rel=0.003)
    maps = measured["maps"]
    cells = {(one["p_min"], one["component"]): np.array(one["q68"], dtype=float) for one in maps["cells"]}
    assert cells.keys() == {(low, c) for low, _ in BINS for c in ("x", "y", "tx", "ty")}
    x, y = np.array(maps["x"]), np.array(maps["y"])
    # This is 68 % of the way through a cell, from the middle outwards.
    low, high = np.minimum(np.abs(x[:-1]), np.abs(x[1:])), np.maximum(np.abs(x[:-1]), np.abs(x[1:]))
    stiff = cells[20.0, "x"]
    assert stiff.shape == (len(y) - 1, len(x) - 1)
    wanted = np.broadcast_to(low + 0.68 * (high - low), stiff.shape)
    full = np.isfinite(stiff)
    assert (~full).sum() == 1, "the corner"
    assert not full[-1, -1]
    # The limit is the error of a quantile of 750 flat numbers, the largest of 80.
    error = (high - low).max() * np.sqrt(0.68 * 0.32 / (count / stiff.size))
    np.testing.assert_allclose(stiff[full], wanted[full], atol=4.5 * error)
    np.testing.assert_allclose(cells[20.0, "tx"][full], 1e-6 * stiff[full], rtol=2e-3)
    assert np.all(np.diff(cells[20.0, "y"][len(y) // 2 :, 0]) > 0)
    assert np.isfinite(cells[3.0, "x"]).sum() == 1
    assert not np.isfinite(cells[5.0, "x"]).any()
