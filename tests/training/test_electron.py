"""Training of what electrons radiate: the likelihood, a toy, and closure on independent electrons."""

from pathlib import Path

import numpy as np
import pytest

from parkf.fit import cpu
from parkf.fit.candidates import from_arrays
from parkf.fit.electron import TrackSeen, density
from parkf.io.errors import ParkfError
from parkf.io.files import write_sealed
from parkf.io.kinds import KINDS
from parkf.params.electron import ElectronFit
from parkf.params.parameter_set import load
from parkf.training.electron import SURELY, fit_mixture, train_electron
from parkf.training.electron_sample import simulate_electrons

ROOT = Path(__file__).parents[2]
NUMBERS = np.array([-0.24, -0.15, 0.37, 5.5, -1.7, 0.39, 0.31, -0.86, 0.61, -0.83, -0.001, 1.05])


def tracks(count, seed):
    """Tracks of all kinds, with UT hits or without."""
    random = np.random.default_rng(seed)
    qop = np.exp(random.uniform(-11, -8, count)) * random.choice([-1, 1], count)
    error = random.uniform(0.15, 1.0, count)
    ratio = 1 + np.clip(error * random.standard_normal(count) - 0.2, -1, 1)
    ratio[random.random(count) < 0.1] = np.nan
    width = random.uniform(0.003, 0.008, count)
    hits = random.integers(3, 16, count).astype(np.float64)
    return TrackSeen(qop, (width * qop) ** 2, hits, ratio * qop, (error * qop) ** 2)


def losses(seen, numbers, seed):
    """Losses that follow the density of the numbers, by the inverse of its integral."""
    share = np.random.default_rng(seed).random(len(seen.qop))
    low, high = np.full(len(share), -1.0), np.full(len(share), 12.0)
    for _ in range(50):
        middle = (low + high) / 2
        is_below = density(np.append(numbers, SURELY), seen, middle)[1] < share
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
    return low


def test_a_toy_is_recovered():
    seen = tracks(6000, 3)
    values, errors = fit_mixture(seen, losses(seen, NUMBERS, 4))
    pulls = (values - NUMBERS) / errors
    assert (errors > 0).all()
    assert (np.abs(pulls) < 4).all(), pulls
    assert np.mean(pulls**2) < 2.5


def test_a_trained_mixture_closes_on_independent_electrons(geometry, field, tmp_path):
    """Electrons of another seed, fitted by a published set: the integral of the density is uniform."""
    trained = train_electron(geometry, field, seed=1, tracks=8000, threads=1)
    trained.save(tmp_path / "electron.json")
    assert ElectronFit.load(tmp_path / "electron.json") == trained
    pions = load(ROOT / "params/2026-run3-like-2-r013")
    below = []
    for columns in simulate_electrons(geometry, field, tracks=4000, seed=2, threads=1):
        candidates = from_arrays(columns, np.float32)
        plain = cpu.fit(pions, candidates, smoother=True, threads=1)
        upstream = cpu.fit_kind(pions, candidates, KINDS["upstream"], threads=1)
        seen, good = TrackSeen.of(plain, upstream, candidates)
        p = 1 / np.abs(seen.qop)
        good &= (p > 2e3) & (p < 1e5)
        loss = -np.log(np.abs(columns["true_qop"]) * p)
        below.append(density(np.array(trained.values), seen.rows(good), loss[good])[1])
    found = np.sort(np.concatenate(below))
    assert len(found) > 1500
    # One in a hundred, with the error of the training, whose sample is half as large again.
    assert np.abs(found - np.arange(1, len(found) + 1) / len(found)).max() < 1.63 * np.sqrt(1.6 / len(found))


def test_the_sample_does_not_depend_on_threads(geometry, field):
    one, two = (
        list(simulate_electrons(geometry, field, tracks=400, seed=3, threads=threads)) for threads in (1, 2)
    )
    assert len(one) == 2
    for first, second in zip(one, two, strict=True):
        for name, values in first.items():
            np.testing.assert_array_equal(values, second[name])
    assert {int(part["polarity"][0]) for part in one} == {-1, 1}


def test_few_electrons_are_refused(geometry, field):
    with pytest.raises(ParkfError, match="good fits to train on, expected at least 500"):
        train_electron(geometry, field, seed=1, tracks=400, threads=1)


def test_a_file_of_other_numbers_is_refused(tmp_path):
    write_sealed(tmp_path / "electron.json", {"values": [1.0], "errors": [None], "tracks": 3})
    with pytest.raises(
        ParkfError, match=r"(?s)values: got 1 entries, expected at least 13\n.*; make it again"
    ):
        ElectronFit.load(tmp_path / "electron.json")
