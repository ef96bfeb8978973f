"""The density with a tail is normalised, and its derivatives are correct."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from parkf.training.noise import mixture

fractions = st.floats(1e-4, 0.5)
widths = st.floats(1.5, 20.0)


@pytest.mark.parametrize("width", [1.5, 3.0, 10.0])
@pytest.mark.parametrize(("dimension", "shell"), [(1, lambda r: 2.0), (2, lambda r: 2 * np.pi * r)])
def test_it_integrates_to_one(width, dimension, shell):
    def density(r):
        return float(np.exp(-mixture(np.array([r**2]), np.zeros(1), 0.1, width, dimension)[0])[0])

    assert quad(lambda r: shell(r) * density(r), 0, np.inf)[0] == pytest.approx(1, abs=1e-4)


@given(st.floats(0, 1e4), fractions, widths, st.sampled_from([1, 2]))
def test_derivatives(q, fraction, width, dimension):
    def nll(q, fraction):
        return mixture(np.array([q]), np.zeros(1), fraction, width, dimension)[0][0]

    _, d_q, d_fraction = mixture(np.array([q]), np.zeros(1), fraction, width, dimension)
    step = 1e-4 * (1 + q)
    assert d_q[0] == pytest.approx(
        (nll(q + step, fraction) - nll(q - step, fraction)) / (2 * step), rel=1e-3, abs=1e-6
    )
    step = 1e-5 * fraction
    numeric = (nll(q, fraction + step) - nll(q, fraction - step)) / (2 * step)
    assert d_fraction[0] == pytest.approx(numeric, rel=1e-3, abs=1e-3)


def test_far_rows_hardly_pull():
    q = np.array([4.0, 1e4, 1e8])
    _, d_q, _ = mixture(q, np.zeros(3), 0.01, 3.0, 2)
    pull = 2 * d_q * np.sqrt(q)
    assert pull[0] == pytest.approx(2.0, rel=0.2)
    assert pull[1] < 0.1
    assert pull[2] < 1e-3
