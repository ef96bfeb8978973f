import numpy as np
import pytest

from parkf.detector.field import FieldMap
from parkf.detector.geometry import SCIFI_PLANES
from parkf.detector.transport import track_through
from parkf.simulation.generate.interactions import Z_END
from parkf.simulation.particles import KAON, MASSES, MUON, PION
from parkf.simulation.response.in_flight import (
    decay_behind_ut,
    mothers_of,
    placed,
)

COUNT = 40_000


def _particles(kind, p=3000.0, charge=1):
    tx, ty = 0.1, -0.05
    pz = p / np.sqrt(1 + tx**2 + ty**2)
    same = np.ones(COUNT)
    return {
        "event": np.arange(COUNT) // 100,
        "particle": np.arange(COUNT) % 100,
        "collision": np.zeros(COUNT, int),
        "pdg_id": np.full(COUNT, kind * charge),
        "mother": np.zeros(COUNT, int),
        "charge": np.full(COUNT, charge),
        "mass": MASSES.get(kind, 938.27) * same,
        "x": 0.0 * same,
        "y": 0.0 * same,
        "z": 10.0 * same,
        "px": tx * pz * same,
        "py": ty * pz * same,
        "pz": pz * same,
        "z_end": np.where(np.arange(COUNT) % 10 == 0, 1000.0, np.inf),
    }


def _random():
    return np.random.Generator(np.random.Philox(17))


@pytest.mark.parametrize(("kind", "c_tau", "mass"), [(PION, 7804.5, 139.57), (KAON, 3711.0, 493.68)])
def test_decays_follow_the_lifetimes_of_the_pdg(kind, c_tau, mass):
    """Reference: PDG 2024, mean lives 26.033 and 12.380 ns. The region is 2.7 to 9.5 m."""
    momentum = 10_000.0
    before = _particles(kind, momentum)
    mothers, products = decay_behind_ut(before, _random())
    alive = np.isinf(before["z_end"])
    decayed = alive & np.isfinite(mothers["z_end"])
    length = c_tau * before["pz"][0] / mass
    expected = -np.expm1(-(9500.0 - Z_END) / length)
    error = np.sqrt(expected * (1 - expected) / alive.sum())
    assert decayed.sum() / alive.sum() == pytest.approx(expected, abs=4 * error)
    assert Z_END < mothers["z_end"][decayed].min() < mothers["z_end"][decayed].max() < 9500.0
    np.testing.assert_array_equal(mothers["z_end"][~alive], 1000.0)
    if kind == PION:
        assert len(products["z"]) == decayed.sum()


def test_kaons_decay_to_muons_three_times_as_often_as_to_two_pions():
    """Reference: PDG 2024, 63.56 % to μν and 20.67 % to ππ⁰. Products of other decays are left out."""
    before = _particles(KAON, 10_000.0)
    mothers, products = decay_behind_ut(before, _random())
    decays = (np.isfinite(mothers["z_end"]) & np.isinf(before["z_end"])).sum()
    kind = np.abs(products["pdg_id"])
    for product, fraction in ((MUON, 0.6356), (PION, 0.2067)):
        error = np.sqrt(fraction * (1 - fraction) / decays)
        assert (kind == product).sum() / decays == pytest.approx(fraction, abs=4 * error)


def test_products_have_the_momenta_of_two_body_decays():
    """The transverse momentum, charge, kind and mean energy of the products are right."""
    for kind, largest in ((PION, 29.79), (KAON, 235.53)):
        particles = _particles(kind, 10_000.0, charge=-1)
        _, products = decay_behind_ut(particles, _random())
        momentum = np.stack([products["px"], products["py"], products["pz"]])
        direction = np.array([particles[name][0] for name in ("px", "py", "pz")]) / 10_000.0
        along = direction @ momentum
        aside = np.sqrt(np.maximum((momentum**2).sum(0) - along**2, 0))
        muon = np.abs(products["pdg_id"]) == MUON
        # The muon's charge is its mother's: a negative muon has a positive number.
        np.testing.assert_array_equal(products["pdg_id"][muon], MUON)
        np.testing.assert_array_equal(products["mother"], -kind)
        assert aside[muon].max() == pytest.approx(largest, rel=2e-3)
        assert (aside[muon] < largest + 0.01).all()
        # Decays are isotropic in the mother's frame.
        assert np.mean(aside[muon]) == pytest.approx(largest * np.pi / 4, rel=0.05)
        m, mu = MASSES[kind], MASSES[MUON]
        energy = np.hypot(10_000.0, m) * (m**2 + mu**2) / (2 * m**2)
        assert np.hypot(np.sqrt((momentum[:, muon] ** 2).sum(0)), mu).mean() == pytest.approx(
            energy, rel=0.03
        )


def test_other_particles_live():
    before = _particles(2212)
    mothers, products = decay_behind_ut(before, _random())
    assert len(products["z"]) == 0
    np.testing.assert_array_equal(mothers["z_end"], before["z_end"])


def test_products_begin_where_their_mothers_are_in_the_field(field: FieldMap, geometry):
    """A product that keeps all of its mother's momentum goes on where the mother would."""
    mothers, products = decay_behind_ut(_particles(PION, 20_000.0), _random())
    number = len(products["z"])
    products |= {"particle": 1000 + np.arange(number), "z_end": np.full(number, np.inf)}
    both = {name: np.concatenate([mothers[name], products[name]]) for name in mothers}
    row = mothers_of(both)
    assert (row[:COUNT] == -1).all()
    np.testing.assert_array_equal(both["z_end"][row[COUNT:]], both["z"][COUNT:])
    np.testing.assert_array_equal(both["event"][row[COUNT:]], both["event"][COUNT:])

    of = row[COUNT:]
    for name in ("px", "py", "pz", "mass"):
        both[name][COUNT:] = both[name][of]
    chosen = of[np.unique(both["event"][of], return_index=True)[1]]  # one an event
    straight = {name: values[chosen] for name, values in mothers.items()}
    states = track_through(field, -1, geometry, straight, seed=1)
    kept = np.isin(row, chosen) | np.isin(np.arange(len(row)), chosen)
    some = {name: values[kept] for name, values in both.items()}
    begun = placed(some, mothers_of(some), states, field=field, polarity=-1)
    assert len(begun["x"]) > 0.95 * len(chosen)
    on = straight | {"z_end": np.full(len(chosen), np.inf)}
    whole, later = (
        {name: values[of["plane"] == SCIFI_PLANES[-1]] for name, values in of.items()}
        for of in (
            track_through(field, -1, geometry, on, seed=1),
            track_through(field, -1, geometry, begun, seed=2),
        )
    )
    _, a, b = np.intersect1d(whole["event"], later["event"], return_indices=True)
    assert len(a) > 60, len(chosen)
    # Behind the decay both scatter independently. Begun on a straight line, they would be 150 mm apart.
    for name in ("x", "y"):
        assert np.median(np.abs(whole[name][a] - later[name][b])) < 2
    assert np.median(np.abs(whole["tx"][a] - later["tx"][b])) < 1e-3
