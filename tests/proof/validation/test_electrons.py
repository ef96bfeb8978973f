"""Figures of electrons: most probable values, intervals and peaks of samples whose truth is known."""

import numpy as np
import pandas as pd
import pytest

from parkf.proof.validation.electrons import momenta, most_probable, peak, width68
from parkf.simulation.generate.decays import DECAYS

COUNT = 4000
MASS = 3096.9


@pytest.fixture
def rows():
    """Electrons that lose an exponential share; the fit as an electron knows a part of the loss."""
    random = np.random.default_rng(3)
    p = np.exp(random.uniform(np.log(3e3), np.log(90e3), COUNT))
    slope, phi = 1 / np.sinh(random.uniform(2.1, 4.9, COUNT)), random.uniform(0, 2 * np.pi, COUNT)
    loss = random.exponential(0.3, COUNT)
    known = np.where(loss > 0.5, loss, 0.0)
    qop = random.choice([-1, 1], COUNT) / p
    pion = qop * np.exp(loss + 0.004 * random.standard_normal(COUNT))
    return pd.DataFrame(
        {
            **{"p_true": p, "true_qop": qop, "true_tx": slope * np.cos(phi), "true_ty": slope * np.sin(phi)},
            **{"pion_qop": pion, "pion_qopqop": (0.004 * pion) ** 2, "qop": pion * np.exp(-known)},
            **{"mean_qop": pion / 1.3, "hard": known > 0, "low_qop": pion * 1.01},
            **{"high_qop": pion * np.exp(-0.3 * 1.84)},
            **dict.fromkeys(("soft_qop", "soft_qopqop", "hard_qop", "hard_qopqop", "mean_qopqop"), 0.0),
        }
    )


def test_figures_of_momenta(rows):
    found = momenta(rows)
    assert found["n"] == COUNT
    assert found["most_probable"] == pytest.approx(-0.005, abs=0.006)
    residual = np.abs(rows.true_qop / rows.pion_qop) - 1
    assert found["pion_width68"] == pytest.approx(width68(residual.to_numpy()))
    assert found["width68_over_pion"] == pytest.approx(found["width68"] / found["pion_width68"])
    assert found["width68_over_pion"] < 0.9
    # An error of half of an interval, from both ends: a few per cent of it.
    assert 0.005 < found["width68_error"] / found["width68"] < 0.1
    expected = np.exp(-0.0) - np.exp(-1.84)
    assert found["inside"] == pytest.approx(expected, abs=0.03)
    assert found["pion_inside"] < 0.1
    assert sum(cell["n"] for cell in found["cells"]) <= COUNT
    assert {(cell["p_min"], cell["eta_min"]) for cell in found["cells"]} >= {(3.0, 2.0), (30.0, 4.0)}
    assert sum(found["histogram"]["content"]) > 0.9 * COUNT


def test_the_most_probable_value_is_that_of_the_peak_and_not_of_the_tail():
    random = np.random.default_rng(4)
    values = np.concatenate([0.003 * random.standard_normal(3000), -random.exponential(0.5, 7000)])
    assert most_probable(values) == pytest.approx(0.0, abs=0.003)
    assert most_probable(np.arange(30.0)) == pytest.approx(10.0, abs=10)


def decay_rows(events, loss):
    """Pairs that leave at right angles to each other's mean, with momenta lost."""
    random = np.random.default_rng(6)
    half = 0.02
    p = MASS / (2 * np.sin(half)) * np.ones(events)
    rows = []
    for sign in (1, -1):
        lost = loss * random.exponential(1, events)
        rows.append(
            pd.DataFrame(
                {
                    "file": 0,
                    "event": np.arange(events),
                    "pdg_id": -11 * sign,
                    "tx": sign * np.tan(half),
                    "ty": 0.0,
                    "true_qop": sign / p,
                    "qop": sign / p,
                    "pion_qop": sign / p * np.exp(lost),
                    "mean_qop": sign / p,
                }
            )
        )
    return pd.concat(rows, ignore_index=True)


def test_a_peak_has_the_mass_of_its_pairs():
    found = peak(decay_rows(500, 0.1), DECAYS["jpsi-ee"])
    assert found["n"] == 500
    assert found["most_probable"] == pytest.approx(MASS, rel=1e-3)
    assert found["width68"] == pytest.approx(0, abs=1e-6)
    assert found["pion_most_probable"] < MASS
    assert found["pion_width68"] > 50
    # The mean of two exponential losses of 0.1 is below 5 % for a quarter of the pairs.
    assert found["near"] == 1
    assert found["pion_near"] == pytest.approx(1 - 2 * np.exp(-1), abs=0.06)
    assert sum(found["histogram"]["content"]) == 500


def test_a_photon_has_the_sum_of_both_momenta():
    found = peak(decay_rows(300, 0.1), DECAYS["gamma-ee"])
    assert found["most_probable"] == pytest.approx(0, abs=1e-9)
    assert -0.2 < found["pion_most_probable"] < 0


def test_soft_electrons_and_few_pairs_make_no_peak():
    assert peak(decay_rows(30, 0.1), DECAYS["jpsi-ee"]) is None
    soft = decay_rows(300, 0.1)
    soft["pion_qop"] *= 100
    assert peak(soft, DECAYS["jpsi-ee"]) is None
