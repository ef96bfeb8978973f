import numpy as np
import pytest

from parkf.simulation.generate.interactions import (
    CONVERSION_RATES,
    CONVERSION_Z,
    INTERACTION_LENGTH,
    Z_END,
    conversion_z,
    interact,
)


def _particles(pdg_id, charge, count=20_000, p=20_000.0):
    tx = np.full(count, 0.1)
    pz = p / np.sqrt(1 + tx**2)
    zero = np.zeros(count)
    return {
        "collision": np.arange(count),
        "pdg_id": np.full(count, pdg_id),
        "mother": np.zeros(count, int),
        "charge": np.full(count, charge),
        "mass": np.full(count, 139.57),
        "x": zero,
        "y": zero,
        "z": zero,
        "px": tx * pz,
        "py": zero,
        "pz": pz,
        "z_end": np.full(count, np.inf),
    }


@pytest.fixture
def random():
    return np.random.default_rng(5)


def test_hadrons_end_where_their_products_start(random):
    after = interact(_particles(211, 1), random)
    ended = np.isfinite(after["z_end"])
    share = ended[:20_000].mean()
    assert abs(share - (1 - np.exp(-Z_END / INTERACTION_LENGTH))) < 4 * np.sqrt(share / 20_000)
    products = slice(20_000, None)
    parent = after["collision"][products]
    assert np.array_equal(after["z"][products], after["z_end"][parent])
    assert np.allclose(after["x"][products], 0.1 * after["z"][products])
    assert set(np.unique(after["mother"][products])) == {211}


def test_products_share_no_more_than_the_parents_momentum(random):
    after = interact(_particles(211, 1), random)
    pz = np.bincount(after["collision"][20_000:], weights=after["pz"][20_000:])
    assert pz.max() <= 20_000 / np.sqrt(1.01) * (1 + 1e-9)
    assert 0.4 < pz[pz > 0].mean() / 20_000 < 0.9


def test_photons_become_pairs_and_leave_no_row(random):
    after = interact(_particles(22, 0), random)
    assert set(np.unique(after["pdg_id"])) == {-11, 11}
    assert after["charge"].sum() == 0
    pairs = len(after["z"]) / 2
    depth = np.diff([0.0, *CONVERSION_Z]) @ CONVERSION_RATES
    expected = 20_000 * (1 - np.exp(-depth))
    assert abs(pairs - expected) < 4 * np.sqrt(expected)
    together = np.bincount(after["collision"], weights=after["pz"])
    assert np.allclose(together[together > 0], 20_000 / np.sqrt(1.01))


def test_photons_convert_at_the_rate_of_each_place(random):
    """Photons from z = 50 mm survive to each z with the probability that the rates before it leave."""
    z = conversion_z(np.full(20_000, 50.0), random.standard_exponential(20_000))
    for end in (100.0, 330.0, 1200.0, 2250.0, 2699.0):
        depth = sum(
            rate * max(min(end, stop) - max(50.0, start), 0.0)
            for start, stop, rate in zip(
                [0.0, *CONVERSION_Z[:-1]], CONVERSION_Z, CONVERSION_RATES, strict=True
            )
        )
        share = 1 - np.exp(-depth)
        assert np.mean(z < end) == pytest.approx(share, abs=4 * np.sqrt(share / 20_000))
    assert z.min() > 50.0
    assert np.isinf(z).any()
    assert not ((z > Z_END) & np.isfinite(z)).any()


def test_muons_go_through(random):
    before = _particles(13, -1)
    after = interact(before, random)
    assert all(np.array_equal(after[name], before[name]) for name in before)


def test_nothing_interacts_after_its_decay(random):
    particles = _particles(321, 1)
    particles["z_end"][:] = 10.0
    after = interact(particles, random)
    assert (after["z_end"][:20_000] <= 10.0).all()
