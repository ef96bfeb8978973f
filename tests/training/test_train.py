"""Fits find the parameters of toys to within their errors, and refuse bad data."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits
from toy_steps import COMPONENTS, STEPS, draw, mean_core, store, train_rows, truth, write

from parkf.io.errors import ParkfError
from parkf.model.codegen.numpy_step import numpy_step
from parkf.training.result import FitResult
from parkf.training.rows import select
from parkf.training.train import mean_energy_loss, train_step

SMALL = ("V", "VUT", "UT", "TFT")


def _pulls(results, step):
    expected = truth(step)
    return np.array(
        [
            (value - expected[i]) / error
            for one in results
            for i, (value, error) in enumerate(zip(one.values, one.errors, strict=True))
            if error is not None
        ]
    )


@pytest.mark.parametrize("step", SMALL)
def test_parameters_are_recovered_within_errors(step):
    rows = draw(step, 8000 * len(STEPS[step].sets), 11, truth(step))
    pulls = _pulls(train_rows([rows], STEPS[step]), step)
    assert len(pulls) == len(STEPS[step].sets) * sum(
        p.kind in ("extrapolation", "noise") for p in STEPS[step].parameters
    )
    assert np.abs(pulls).max() < 4.0


def test_pulls_have_width_one():
    toys = (draw("VUT", 3000, seed, truth("VUT")) for seed in range(12))
    pulls = np.concatenate([_pulls(train_rows([toy], STEPS["VUT"]), "VUT") for toy in toys])
    # 12 × 15 pulls, correlated within a toy: the width is known to about 10%.
    assert abs(pulls.mean()) < 0.3
    assert 0.75 < pulls.std() < 1.25


def test_tails_do_not_steer_the_core():
    rows = draw("UT", 48000, 3, truth("UT"), tail=0.05)
    result = train_rows([rows], STEPS["UT"], numbers=range(1))[0]
    expected = truth("UT")
    for i in STEPS["UT"].indices("noise"):
        assert result.values[i] == pytest.approx(expected[i], rel=0.05)
    # 5% of the rows four times as wide: a single normal distribution would be 32% wider than its core.
    assert mean_core(result.accuracy, "tx") == pytest.approx(1.0, abs=0.03)


def test_outliers_do_not_move_p():
    rows = draw("UT", 12000, 5, truth("UT"))
    clean = train_rows([rows], STEPS["UT"], numbers=range(1))[0]
    hit = rows["set"] == 0
    hit &= np.arange(len(hit)) % 500 == 0
    rows["txe"] = np.where(hit, rows["txe"] + 0.05, rows["txe"])
    spoilt = train_rows([rows], STEPS["UT"], numbers=range(1))[0]
    for i in range(4):
        assert abs(spoilt.values[i] - clean.values[i]) < 2 * clean.errors[i]


@pytest.mark.parametrize("step", ["V", "VUT"])
def test_each_polarity_alone_gives_the_same(step):
    rows = draw(step, 12000 * len(STEPS[step].sets), 21, truth(step))
    both = (select(rows, rows["polarity"] == polarity) for polarity in (+1, -1))
    up, down = (train_rows([one], STEPS[step], numbers=range(1))[0] for one in both)
    for a, b, error_a, error_b in zip(up.values, down.values, up.errors, down.errors, strict=True):
        assert abs(a - b) < 4 * np.hypot(error_a, error_b)


def test_scattering_of_the_beamline():
    expected = truth("BEAM")
    rows = draw("BEAM", 20000, 9, expected)
    for result in train_rows([rows], STEPS["BEAM"]):
        assert np.abs(np.subtract(result.values[:3], expected[:3]) / result.errors[:3]).max() < 4
        assert result.values[3] == pytest.approx(15.0, abs=1e-6)
        assert result.errors[3] is None


def test_widths_stay_positive():
    """The part of a width that does not fall with momentum may be negative; the width itself may not."""
    rows = draw("V", 20000, 8, truth("V"), tail=0.05)
    for number, result in enumerate(train_rows([rows], STEPS["V"])):
        sigma = numpy_step(STEPS["V"]).noise(np.array(result.values), select(rows, rows["set"] == number))
        assert min(sigma["tx"].min(), sigma["x"].min()) > 0
        assert abs(result.values[0]) < 0.1


def test_energy_loss_leaves_out_the_largest(tmp_path):
    loss = np.full(1000, 12.0)
    loss[::200] = 1e4
    rows = draw("TFT", 1000, 1, truth("TFT")) | {"qop": np.full(1000, 1 / 5000.0), "p_true": 5000.0 - loss}
    assert mean_energy_loss(store(rows, "TFT", tmp_path)[0]) == pytest.approx(12.0)


def test_halves_agree_within_errors():
    """Errors include the form's misfit, which is alike for all rows of a particle and depends on position."""
    pulls = []
    for seed in range(3):
        rows = draw("UT", 24000, seed, truth("UT"))
        rows["event"] = rows["event"] // 12
        particle = np.random.default_rng(seed).normal(size=2000)[rows["event"]]
        for c in COMPONENTS:
            misfit = particle * (1 + 200 * rows["tx0"] ** 2) * np.abs(rows["qop"])
            rows[f"{c}e"] = rows[f"{c}e"] + 0.05 * misfit * (45 if c in ("x", "y") else 1)
        halves = [train_rows([select(rows, rows["event"] % 2 == half)], STEPS["UT"]) for half in (0, 1)]
        pulls += [
            (a - b) / np.hypot(error_a, error_b)
            for one, other in zip(*halves, strict=True)
            for a, b, error_a, error_b in zip(one.values, other.values, one.errors, other.errors, strict=True)
            if error_a is not None
        ]
    # 3 × 6 × 13 pulls: their width is known to 5%.
    assert np.std(pulls) == pytest.approx(1.0, abs=0.1)


def test_more_rows_than_memory_holds_at_once_count(monkeypatch):
    """Fits start on a sample of the rows, and end at the minimum of all rows."""
    rows = draw("VUT", 40_000, 6, truth("VUT"))
    whole = train_rows([rows], STEPS["VUT"], numbers=range(1))[0]
    pieces = [select(rows, np.arange(begin, min(begin + 7000, 40_000))) for begin in range(0, 40_000, 7000)]
    monkeypatch.setattr("parkf.training.minimise.SAMPLE", 3000)
    monkeypatch.setattr("parkf.training.rows.BLOCK", 1000)
    streamed = train_rows(pieces, STEPS["VUT"], numbers=range(1))[0]
    for a, b, error in zip(whole.values, streamed.values, whole.errors, strict=True):
        assert error is None or abs(a - b) < 0.03 * error
    np.testing.assert_allclose([e for e in streamed.errors if e], [e for e in whole.errors if e], rtol=0.2)


def test_equal_inputs_give_equal_bytes_on_one_core_and_two(tmp_path):
    path = write(draw("TFT", 3000, 4, truth("TFT")), tmp_path / "TFT.parquet")
    for threads in (1, 2):
        with threadpool_limits(threads):
            train_step(path, "TFT", forms="improved").save(tmp_path / f"{threads}.json")
    assert (tmp_path / "1.json").read_bytes() == (tmp_path / "2.json").read_bytes()
    assert FitResult.load(tmp_path / "1.json") == train_step(path, "TFT", forms="improved")


def test_parameters_that_rows_do_not_determine_are_refused():
    rows = draw("VUT", 2000, 4, truth("VUT"))
    rows["z0"] = np.full(2000, 600.0)
    with pytest.raises(
        ParkfError,
        match=r"step VUT, set 0 \(forward\): fit of tx: the rows do not determine all of p3, p4, p5, p6",
    ):
        train_rows([rows], STEPS["VUT"])


def test_too_few_rows():
    rows = draw("V", 150, 4, truth("V"))
    with pytest.raises(ParkfError, match=r"step V, set 0 \(forward\): 75 rows, expected at least 100"):
        train_rows([rows], STEPS["V"])


def test_result_of_another_version_is_refused(tmp_path):
    path = tmp_path / "fit.json"
    path.write_text('{"version": 99}')
    with pytest.raises(ParkfError, match="version: got 99, expected 4"):
        FitResult.load(path)
