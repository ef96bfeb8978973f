"""Core and width of values by momentum do not depend on the tails."""

import numpy as np

from parkf.training.closure.bias import Widths
from parkf.training.closure.targets import EDGES

SEED = 9


def test_core_by_momentum_is_blind_to_tails():
    random = np.random.default_rng(SEED)
    p = 1500 * (60.0 ** random.uniform(size=200_000))
    centre, width = 1e-3 * np.log(p / 1e4), 2e-3 * np.sqrt(1e4 / p)
    tail = random.uniform(size=len(p)) < 0.02
    values = centre + width * random.normal(size=len(p)) + np.where(tail, 0.05, 0.0)
    found = Widths()
    for rows in np.array_split(np.arange(len(p)), 3):
        found.add(p[rows], values[rows])
    at = np.array([2e3, 1e4, 5e4])
    mean, half = found.core(at)
    np.testing.assert_allclose(mean, 1e-3 * np.log(at / 1e4), atol=1.5e-4)
    np.testing.assert_allclose(half, 2e-3 * np.sqrt(1e4 / at), rtol=0.06)


def test_a_response_is_measured_in_narrow_bins_of_all_momenta():
    """Tracks have 1.5 to 100 GeV. Within a factor of one and a half a response hardly changes."""
    assert EDGES[0] <= 1500.0
    assert 100e3 <= EDGES[-1] <= 200e3
    assert (np.diff(np.log(EDGES)) < np.log(1.5)).all()
