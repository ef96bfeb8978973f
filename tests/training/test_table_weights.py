"""The weight of a ray in the table's fit depends on its place, its momentum and its residual."""

import numpy as np
import pytest

from parkf.training.magnet_table.rays import (
    EDGE_WEIGHT,
    END_WEIGHT,
    MOMENTA,
    OUTSIDE_WEIGHT,
    SEAM_WEIGHT,
    STIFF,
    STIFF_WEIGHT,
    Rays,
    _qop,
    first_weights,
    momentum_density,
    second_weights,
)

Z_IN = 2665.0


def _over_momentum(rays, offsets):
    """Weights without the parts that depend on momentum alone, and which rays are inner."""
    f = 1500 * rays.qop
    inner, weights = first_weights(rays, Z_IN, f, offsets)
    return inner, weights * momentum_density(rays.qop) / (1 + STIFF_WEIGHT / (1 + (f / STIFF) ** 2))


def _rays(start, end, momentum):
    count = len(momentum)
    states = (np.column_stack([place, np.zeros((count, 2))]) for place in (start, end))
    return Rays(*states, 1 / np.asarray(momentum))


def test_drawn_momenta_times_their_weights_are_what_is_to_count():
    """Weighted rays are half flat in log p and half flat in 1/p, whatever density they are drawn with."""
    place = np.random.default_rng(1).uniform(size=400_000)
    qop = _qop(place, "training")
    low, high = MOMENTA
    edges = np.geomspace(low, high, 9)
    got, _ = np.histogram(1 / np.abs(qop), edges, weights=1 / momentum_density(qop))
    expected = np.diff(np.log(edges) / np.log(high / low) - (1 / edges) / (1 / low - 1 / high)) / 2
    np.testing.assert_allclose(got / got.sum(), expected, rtol=0.02)
    assert abs(np.mean(np.sign(qop))) < 0.01


def test_what_lies_outside_hardly_counts():
    start = np.full((6, 2), [100.0, 50.0])
    start[3] = 0.4 * Z_IN, 0.3 * Z_IN
    # The rays end beyond the edge in x, beyond the edge in y, and at an x that would be too large for a y.
    end = np.full((6, 2), [500.0, 100.0])
    end[1], end[2], end[5] = (3100.0, 100.0), (500.0, 2600.0), (2800.0, 100.0)
    rays = _rays(start, end, [5000.0, 5000.0, 5000.0, 5000.0, 1450.0, 5000.0])
    inner, relative = _over_momentum(rays, np.zeros((6, 2)))
    assert inner.tolist() == [True, False, False, False, False, True]
    np.testing.assert_allclose(
        relative[1:] / relative[0], [EDGE_WEIGHT, EDGE_WEIGHT, OUTSIDE_WEIGHT, OUTSIDE_WEIGHT, 1]
    )


def test_only_stiff_tracks_stay_at_a_seam():
    rays = _rays(np.full((3, 2), 50.0), np.full((3, 2), 100.0), [100e3, 100e3, 1500.0])
    offsets = np.array([[0.1, 0.1], [0.1, 0.45], [0.1, 0.45]])
    values = _over_momentum(rays, offsets)[1]
    np.testing.assert_allclose(values / values[0], [1, 2, 1 + SEAM_WEIGHT / (1 + STIFF**-2)], rtol=0.01)
    assert values[2] < 1.1 * values[0]


@pytest.fixture
def missed():
    """The residuals have the same shape at all momenta."""
    random = np.random.default_rng(2)
    f = random.choice([-1, 1], 48_000) * random.uniform(0.01, 1, 48_000)
    return f, f * random.standard_t(3, 48_000)


def test_the_tail_counts_more_and_what_is_beyond_help_less(missed):
    f, residual = missed
    soft = 1 + END_WEIGHT * f**4
    values = second_weights(np.ones(len(f), bool), np.ones(len(f)), f, residual) / soft
    tail = np.quantile(np.abs(residual / f), 0.98)
    place = np.abs(residual / f) / tail
    centre, near, far = (values[mask].mean() for mask in (place < 0.1, np.abs(place - 1) < 0.1, place > 3))
    assert near == pytest.approx(2 * centre, rel=0.15)
    assert far < 0.1 * centre
    # Stiff and soft tracks keep their fractions of the total weight.
    for part in (np.abs(f) < 0.3, np.abs(f) > 0.7):
        assert values[part].mean() == pytest.approx(1.0, abs=0.01)


def test_outer_rays_keep_their_weight(missed):
    f, residual = missed
    inner = np.arange(len(f)) % 2 == 0
    first = np.where(inner, 1.0, EDGE_WEIGHT)
    values = second_weights(inner, first, f, np.where(inner, residual, 1e3))
    np.testing.assert_allclose(values[~inner], EDGE_WEIGHT * (1 + END_WEIGHT * f[~inner] ** 4))
