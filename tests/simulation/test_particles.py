"""Which particles steps are trained on, and random numbers that no two uses share."""

import numpy as np
import pytest

from parkf.simulation.particles import select_particles
from parkf.simulation.random_numbers import Stream


@pytest.mark.parametrize(
    ("p", "eta", "kind", "wanted"),
    [
        (1500.0, 3.0, 211, True),
        (1300.0, 3.0, 211, False),
        (5000.0, 1.95, -321, True),
        (5000.0, 1.85, 211, False),
        (5000.0, 5.05, 2212, True),
        (5000.0, 5.15, 211, False),
        (5000.0, 3.0, -11, False),
    ],
)
def test_steps_are_trained_on_particles_in_the_acceptance_above_1_4_gev(p, eta, kind, wanted):
    across, along = p / np.cosh(eta), p * np.tanh(eta)
    of = {"px": [0.6 * across], "py": [-0.8 * across], "pz": [along], "pdg_id": [kind]}
    assert select_particles({name: np.array(values) for name, values in of.items()}).tolist() == [wanted]


def test_no_two_uses_have_the_same_random_numbers():
    numbers = [int(stream) for stream in Stream.__members__.values()]
    assert len(numbers) >= 10
    assert len(set(numbers)) == len(numbers)
