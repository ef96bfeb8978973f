"""The ghost score: training on samples whose answer is known, storage, and the kernel's networks."""

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

from parkf.fit import cpu, fit
from parkf.io.errors import ParkfError
from parkf.io.tables import CANDIDATES, PARTICLES
from parkf.params.ghost_score import HIDDEN, NUMBERS, OWN, Score, count, load_score
from parkf.params.parameter_set import load, with_blobs
from parkf.training.ghost_score import train
from parkf.training.ghost_score.train import _loss, train_network, train_score

from ...rows import arrow
from ...sets import toy_set

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
    bare = toy_set(toy)
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
    """It finds the log odds 2·|f₀| − 4 + f₁ that classes were drawn with, and the same bytes each time."""
    random = np.random.default_rng(2)
    features = random.normal(size=(20000, 3)).astype(np.float32) * [1, 2, 30] + [0, 5, -100]
    true = 2 * np.abs(features[:, 0]) - 4 + (features[:, 1] - 5)
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


def test_training_leaves_out_what_no_fit_is_validated_with(scored, tmp_path, monkeypatch):
    """Of the genuine candidates, soft ones, electrons, decayed ones and particles that are unknown."""
    monkeypatch.setattr(train, "ROUNDS", 1)
    toy = generate(3000, 6000.0, seed=4)
    purity = np.where(np.arange(3000) < 1000, 0.69, 0.7)
    # Twice five hundred of the genuine tracks are used, one just above 2 GeV, and a muon and a positron.
    p, pdg_id, z_end = np.full(3000, 6000.0), np.full(3000, 211), np.full(3000, np.inf)
    p[1000:1300], p[1300:1400] = 1990.0, 2010.0
    pdg_id[1400:1600], pdg_id[1600:1700], pdg_id[1700:1800] = 11, -11, -13
    z_end[1800:2000] = 4000.0
    direction = np.array([0.36, 0.48, 0.8])
    particles = dict.fromkeys(PARTICLES.schema.names, np.ones(3000)) | {
        "event": np.arange(3000) // 50,
        "particle": np.arange(3000) % 50,
        "pdg_id": pdg_id,
        "z_end": z_end,
        **dict(zip(("px", "py", "pz"), direction[:, None] * p, strict=True)),
    }
    candidates = toy.arrays | {
        "event": particles["event"],
        "candidate": particles["particle"],
        # The last hundred candidates name particles that are not there.
        "particle": np.where(np.arange(3000) < 2900, particles["particle"], 77),
        "purity": purity,
    }
    paths = (tmp_path / "particles.parquet", tmp_path / "candidates.parquet")
    for table, columns, path in zip((PARTICLES, CANDIDATES), (particles, candidates), paths, strict=True):
        with table.writer(path) as writer:
            writer.write_table(arrow(table, columns))
    score = train_score(scored, [paths], seed=1, threads=1)
    status = fit(scored, toy.candidates("float32")).status
    used = np.ones(2000, bool)
    used[:300] = used[400:700] = used[800:1000] = used[1900:] = False
    assert (score.genuine, score.ghosts) == ((status[1000:] == 0)[used].sum(), (status[:1000] == 0).sum())


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_the_kernel_evaluates_both_networks(scored, toy, precision):
    tracks = toy.candidates(precision)
    plain = cpu.fit(scored, tracks, smoother=True, features=True, threads=1)
    features = np.stack(list(plain.more.values()))
    got = fit(scored, tracks, precision=precision, score=True)
    first = count(len(OWN))
    expected = (
        odds(scored.score.numbers[:first], features[: len(OWN)].T.astype(np.float64)),
        odds(scored.score.numbers[first:], features.T.astype(np.float64)),
    )
    for values, one in zip(got.more.values(), expected, strict=True):
        np.testing.assert_allclose(values, one, rtol=2e-3, atol=2e-3)
    np.testing.assert_array_equal(got.qop, plain.qop)
    robust = fit(scored, tracks, precision=precision, score=True, robust=True)
    for name, values in got.more.items():
        np.testing.assert_array_equal(robust.more[name], values)


def test_features_are_what_they_are_called(scored, toy):
    fitted = cpu.fit(scored, toy.candidates("float64"), smoother=True, features=True, threads=1)
    named = fitted.more

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
