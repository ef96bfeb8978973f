"""The loss of momentum in a VELO module, from fits whose bias depends on the number of modules."""

import numpy as np
import pytest

from parkf.training.closure.loss import velo_loss

LOSS = 0.46  # MeV


def sample(n=40_000, seed=8, loss=LOSS):
    """Differences of q/p (n,): a bias of direction and momentum, the loss, and tails."""
    random = np.random.default_rng(seed)
    p = np.exp(random.uniform(np.log(2e3), np.log(60e3), n))
    eta, phi = random.uniform(2, 5, n), random.uniform(-np.pi, np.pi, n)
    slopes = np.column_stack([np.cos(phi), np.sin(phi)]) / np.sinh(eta)[:, None]
    # Tracks of medium pseudorapidity cross more modules.
    modules = np.round(random.normal(12 - 2 * np.abs(eta - 3.5), 3, n)).clip(3, 26)
    bias = 1e-3 * np.where(eta > 3.5, 1, -1) * np.where(p > 1e4, 2, 1)
    width = np.where(random.random(n) < 0.03, 0.03, 1e-3)
    return slopes, p, bias + loss * modules / p + width * random.normal(size=n), modules


@pytest.mark.parametrize("loss", [0.0, LOSS])
def test_it_is_found_whatever_the_bias_of_a_direction(loss):
    found = velo_loss(*sample(loss=loss))
    assert abs(found - loss) < 0.06  # three errors


def test_fits_that_failed_do_not_count():
    slopes, p, difference, modules = sample()
    whole = velo_loss(slopes, p, difference, modules)
    failed = np.concatenate([difference, np.full(100, np.nan)])
    more = [np.concatenate([one, one[:100]]) for one in (slopes, p, modules)]
    assert velo_loss(more[0], more[1], failed, more[2]) == whole
