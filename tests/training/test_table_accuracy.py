"""The misfit of the table is that which it was given."""

import numpy as np
import pytest

from parkf.model.layout import HEADER
from parkf.training.magnet_table.accuracy import table_accuracy
from parkf.training.magnet_table.rays import Rays


def test_quantiles_are_those_of_the_rays_of_a_momentum():
    """The table misses by the place of a ray, which is flat in x and y."""
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
