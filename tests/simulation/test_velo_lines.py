"""Lines through the hits of VELO segments."""

import numpy as np

from parkf.simulation.pattern.velo import fit_lines


def best_line(x, z, slope, kink):
    """x and slope at 770 mm, by least squares in all hits (12.5 µm) and in a kink at each but the last."""
    size = len(z)
    levers = np.tril(z[:, None] - z[None, :])[:, :-1]
    hits = np.column_stack([np.ones(size), z - z[0], levers]) / 0.0125
    before, kinks = np.eye(1, size + 1, 1), np.eye(size - 1, size + 1, 2) / kink
    wanted = np.concatenate([x / 0.0125, [slope], np.zeros(size - 1)])
    first, tx, *turns = np.linalg.lstsq(np.concatenate([hits, before, kinks]), wanted, rcond=None)[0]
    return first + (770 - z[0]) * tx + np.sum(turns * (770 - z[:-1])), tx + sum(turns)


def test_a_line_is_the_best_one_with_a_kink_at_each_module():
    random = np.random.default_rng(8)
    z = np.cumsum(random.uniform(20, 60, (2, 6)), axis=1)
    points = z[..., None] * [0.1, -0.2] + random.normal(0, 0.05, (2, 6, 2))
    for line, hits, at, count in zip(fit_lines(points, z, np.array([4, 6])), points, z, (4, 6), strict=True):
        hits, at = hits[:count], at[:count]
        slopes = (hits[-1] - hits[0]) / (at[-1] - at[0])
        kink = np.sqrt(1e-8 + 7e-6 * np.sum(slopes**2))
        for axis in (0, 1):
            expected = best_line(hits[:, axis], at, slopes[axis], kink)
            np.testing.assert_allclose(line[[axis, axis + 2]], expected, rtol=1e-6)
