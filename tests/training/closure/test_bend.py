"""A change of the bend is found from tracks, whatever its symmetry. It is zero where there are no tracks."""

import numpy as np
import pytest
from closure_toys import scattered

from parkf.training.closure.bend import ChangeFit, add_change
from parkf.training.closure.close import belief_states
from parkf.training.magnet_table.form import Header, places

SEED = 5


def bend(table, states, h):
    return (table.extrapolate(states, h, np.ones(len(h))) - states)[:, 2]


def fitted(table, states, h, wanted, noise=1e-3):
    header = Header.of(table.header)
    fit = ChangeFit(header)
    fit.add(fit.basis(states, h, bend(table, states, h)), wanted, np.full(len(h), noise**-2))
    believed, at = belief_states(header)
    return fit.solve(fit.basis(believed, at, bend(table, believed, at)))


@pytest.mark.parametrize("odd", [False, True])
def test_a_known_change_is_found(table, odd):
    states, h = scattered(30_000, SEED)
    x, y = places(Header.of(table.header), states)
    truth = 2e-3 * (y**2 - 0.3 * x**2) + (1e-3 * y + 5e-4 * x * y if odd else 0.0)
    random = np.random.default_rng(SEED)
    change = fitted(table, states, h, truth + 1e-3 * random.normal(size=len(h)))
    new = add_change(table, change)
    unseen, at = scattered(5000, SEED + 1)
    x, y = places(Header.of(table.header), unseen)
    expected = 2e-3 * (y**2 - 0.3 * x**2) + (1e-3 * y + 5e-4 * x * y if odd else 0.0)
    before, after = bend(table, unseen, at), bend(new, unseen, at)
    off = after / before - 1 - expected
    assert np.sqrt(np.mean(off**2)) < 1.5e-4
    # Nothing but tx has changed.
    ends = [one.extrapolate(unseen, at, np.ones(len(at))) for one in (table, new)]
    np.testing.assert_array_equal(ends[0][:, [0, 1, 3]], ends[1][:, [0, 1, 3]])


def test_where_no_track_is_nothing_changes_much(table):
    """All tracks are in one corner and need a tenth of the prior's width; the other corner stays as it is."""
    states, h = scattered(20_000, SEED)
    x, y = places(Header.of(table.header), states)
    near = (x > 0) & (y > 0)
    change = fitted(table, states[near], h[near], np.full(near.sum(), 1e-3))
    new = add_change(table, change)
    far = (x < -0.3) & (y < -0.3)
    moved = bend(new, states, h) / bend(table, states, h) - 1
    assert np.abs(moved[near] - 1e-3).max() < 2e-3
    assert np.sqrt(np.mean(moved[far] ** 2)) < 1e-2


def test_the_prior_weighs_as_twenty_thousand_tracks_with_an_error_of_one_per_cent(table):
    """At the same places as such tracks, it halves what they want."""
    states, h = scattered(1000, SEED)
    fit = ChangeFit(Header.of(table.header))
    basis = fit.basis(states, h, bend(table, states, h))
    wanted = basis @ np.random.default_rng(SEED).normal(size=basis.shape[1])
    fit.add(basis, wanted, np.full(1000, 20 / 0.01**2))
    change = fit.solve(basis)
    np.testing.assert_allclose(basis @ change.ravel(), wanted / 2, atol=1e-6 * np.abs(wanted).max())
