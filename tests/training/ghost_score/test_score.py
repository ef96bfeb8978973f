"""The ghost score: training on samples whose answer is known, storage, and the kernel's networks."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

from parkf.fit import cpu, fit
from parkf.io.errors import ParkfError
from parkf.model.steps import FORMS
from parkf.params.ghost_score import FEATURES, HIDDEN, NUMBERS, OWN, Score, count, load_score
from parkf.params.imported import imported
from parkf.params.manifest import Constants
from parkf.params.parameter_set import load, with_blobs
from parkf.training.ghost_score.train import _loss, train_network

sys.path.insert(0, str(Path(__file__).parents[2] / "fit"))
from kalman_toy import generate


def odds(numbers, features):
    """Log odds of features (n, m), computed independently of the kernel."""
    m = features.shape[1]
    rows = numbers[: HIDDEN * (m + 1)].astype(np.float64).reshape(HIDDEN, m + 1)
    units = np.maximum(features @ rows[:, :m].T + rows[:, m], 0)
    return units @ numbers[-HIDDEN - 1 : -1].astype(np.float64) + numbers[-1]


@pytest.fixture(scope="module")
def score():
    random = np.random.default_rng(5)
    return Score(random.normal(size=NUMBERS).astype(np.float32), 1000, 500)


@pytest.fixture(scope="module")
def toy():
    return generate(500, 6000.0, seed=4, efficiency=0.9)


@pytest.fixture(scope="module")
def scored(toy, score):
    """The toy's set with a score."""
    layout = FORMS[toy.parameters.manifest.forms].layout
    blocks = {
        b.name: toy.parameters.constant[layout.block_slice(b.name)].reshape(b.shape) for b in layout.blocks
    }
    constants = Constants(velo_sigma=0.0125, beam_x=0.02, beam_y=-0.03)
    bare = imported(layout, blocks, toy.parameters.table, constants, inputs={}, source="toy")
    return with_blobs(bare.manifest, bare.constant, bare.table, score)


def test_the_gradient_is_that_of_the_loss():
    random = np.random.default_rng(1)
    features = random.normal(size=(300, 5)).astype(np.float32)
    genuine = random.random(300) < 0.6
    weight = np.full(300, 1 / 300, np.float32)
    at = random.normal(size=count(5))
    _, gradient = _loss(at, features, genuine, weight, HIDDEN)
    for i in random.choice(len(at), 12, replace=False):
        step = np.zeros_like(at)
        step[i] = 2e-3
        values = [_loss(at + s * step, features, genuine, weight, HIDDEN)[0] for s in (1, -1)]
        assert (values[0] - values[1]) / 4e-3 == pytest.approx(gradient[i], abs=5e-4)


def test_training_finds_known_odds_on_independent_rows():
    """It finds the log odds 2·|f₀| − 2 + f₁ that classes were drawn with, and the same bytes each time."""
    random = np.random.default_rng(2)
    features = random.normal(size=(20000, 3)).astype(np.float32) * [1, 2, 30] + [0, 5, -100]
    true = 2 * np.abs(features[:, 0]) - 2 + (features[:, 1] - 5)
    genuine = random.random(len(true)) < expit(true)
    half = slice(0, 10000)
    numbers = train_network(features[half].astype(np.float32), genuine[half], hidden=HIDDEN, seed=3)
    again = train_network(features[half].astype(np.float32), genuine[half], hidden=HIDDEN, seed=3)
    assert numbers.tobytes() == again.tobytes()
    # Both kinds have the same total weight, which is an offset of the log odds.
    offset = np.log((~genuine[half]).sum() / genuine[half].sum())
    got = odds(numbers, features[10000:])
    assert np.corrcoef(got, true[10000:])[0, 1] > 0.98
    assert np.median(got - true[10000:] - offset) == pytest.approx(0, abs=0.15)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_the_kernel_evaluates_both_networks(scored, toy, precision):
    tracks = toy.candidates(precision)
    plain, features = cpu.fit_features(scored, tracks, threads=1)
    got = fit(scored, tracks, precision=precision, score=True)
    first = count(len(OWN))
    expected = (
        odds(scored.score.numbers[:first], features[: len(OWN)].T.astype(np.float64)),
        odds(scored.score.numbers[first:], features.T.astype(np.float64)),
    )
    for values, one in zip(got.scores.values(), expected, strict=True):
        np.testing.assert_allclose(values, one, rtol=2e-3, atol=2e-3)
    np.testing.assert_array_equal(got.qop, plain.qop)
    robust = fit(scored, tracks, precision=precision, score=True, robust=True)
    for name, values in got.scores.items():
        np.testing.assert_array_equal(robust.scores[name], values)


def test_features_are_what_they_are_called(scored, toy):
    fitted, features = cpu.fit_features(scored, toy.candidates("float64"), threads=1)
    named = dict(zip(FEATURES, features, strict=True))

    def log(values):
        power = np.floor(np.log2(values))
        return power + values / 2**power - 1

    ndof = np.maximum(fitted.ndof_scifi, 1)
    np.testing.assert_allclose(
        named["log(0.05 + chi2/ndof) of the SciFi"], log(0.05 + fitted.chi2_scifi / ndof), atol=1e-9
    )
    np.testing.assert_allclose(named["log(5 GeV/p)"], log(np.abs(fitted.qop) * 5000), atol=1e-9)
    np.testing.assert_array_equal(named["ndof of the UT"], fitted.ndof_ut)
    # The sum over the stations is the number of the whole SciFi.
    stations = [
        named[f"log(0.1 + chi2) of the {which} SciFi station"] for which in ("first", "second", "third")
    ]
    whole = [2 ** np.floor(s) * (1 + s - np.floor(s)) - 0.1 for s in stations]
    np.testing.assert_allclose(sum(whole), fitted.chi2_scifi, rtol=1e-6, atol=1e-6)
    alone = named["log(1 + chi2) of the first UT layer"]
    assert (alone <= named["log(1 + chi2) of the first two UT layers"] + 1e-9).all()


def test_a_set_keeps_its_score(scored, score, tmp_path):
    scored.save(tmp_path)
    again = load(tmp_path)
    np.testing.assert_array_equal(again.score.numbers, score.numbers)
    assert again.manifest.ghost_score == score.description()
    assert again.manifest.ghost_score.networks[1].first == count(len(OWN))
    broken = bytearray((tmp_path / "ghosts.f32").read_bytes())
    broken[5] ^= 1
    (tmp_path / "ghosts.f32").write_bytes(broken)
    with pytest.raises(ParkfError, match=r"ghosts\.f32: sha256"):
        load(tmp_path)
    (tmp_path / "ghosts.f32").write_bytes(broken[:-4])
    with pytest.raises(ParkfError, match=r"ghosts\.f32: .* bytes, expected"):
        load(tmp_path)
    with_blobs(scored.manifest, scored.constant, scored.table).save(tmp_path)
    assert not (tmp_path / "ghosts.f32").exists()
    assert load(tmp_path).score is None


def test_a_trained_score_is_written_and_read(score, tmp_path):
    score.save(tmp_path / "score.json")
    again = load_score(tmp_path / "score.json")
    np.testing.assert_array_equal(again.numbers, score.numbers)
    (tmp_path / "score.json").write_text('{"numbers": [1.0], "genuine": 1, "ghosts": 1}')
    with pytest.raises(ParkfError, match="1 numbers, expected"):
        load_score(tmp_path / "score.json")
