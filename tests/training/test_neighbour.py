"""A fit that starts from a neighbour's ends in the same minimum as without it, after fewer calls."""

import numpy as np
import pytest
from toy_steps import STEPS, draw, train_rows, truth, write

from parkf.io.errors import ParkfError
from parkf.training.neighbour import Neighbour, neighbour
from parkf.training.result import FitResult
from parkf.training.train import train_step

SMALL = ("V", "VUT", "TFT", "BEAM")


def calls(results):
    return sum(minimum.calls for one in results for minimum in one.minima)


def furthest(results, others):
    """Largest difference of a parameter in units of its error."""
    return max(
        abs(a - b) / error
        for one, other in zip(results, others, strict=True)
        for a, b, error in zip(one.values, other.values, one.errors, strict=True)
        if error is not None
    )


@pytest.fixture(scope="module", params=SMALL)
def cold(request):
    """Rows of a step, and their fit from the form's own start."""
    step = STEPS[request.param]
    rows = draw(step.name, 8000 * len(step.sets), 11, truth(step.name), tail=0.03)
    return step, rows, train_rows([rows], step)


@pytest.mark.parametrize("moved", [3.0, 30.0], ids=lambda moved: f"{moved:g} errors off")
def test_the_same_minimum_from_a_neighbour(cold, moved):
    step, rows, alone = cold
    random = np.random.default_rng(5)
    near = [
        np.array(
            [
                value + (error or 0.0) * moved * random.choice([-1, 1])
                for value, error in zip(one.values, one.errors, strict=True)
            ]
        )
        for one in alone
    ]
    warm = train_rows([rows], step, neighbour=Neighbour(near, "0" * 64))
    assert furthest(alone, warm) < 0.1
    for one, other in zip(alone, warm, strict=True):
        np.testing.assert_allclose([e for e in one.errors if e], [e for e in other.errors if e], rtol=0.05)
    if moved < 10:
        assert calls(warm) < 0.7 * calls(alone)


def test_a_neighbour_that_is_none_does_no_harm(cold):
    """Newton's method finds no minimum from there, and the search begins as it does without a neighbour."""
    step, rows, alone = cold
    nonsense = [1e3 * (1 + np.abs(one.values)) for one in alone]
    assert furthest(alone, train_rows([rows], step, neighbour=Neighbour(nonsense, "0" * 64))) < 0.1


def test_the_start_is_recorded_and_decides_the_bytes(tmp_path):
    data = write(draw("TFT", 3000, 4, truth("TFT")), tmp_path / "TFT.parquet")
    train_step(data, "TFT", forms="improved").save(tmp_path / "one.json")
    near = neighbour(tmp_path / "one.json", "TFT", "improved")
    for name in ("two", "three"):
        train_step(data, "TFT", forms="improved", neighbour=near).save(tmp_path / f"{name}.json")
    assert (tmp_path / "two.json").read_bytes() == (tmp_path / "three.json").read_bytes()
    assert FitResult.load(tmp_path / "one.json").start is None
    assert FitResult.load(tmp_path / "two.json").start == near.fingerprint


def test_what_is_no_neighbour_is_refused(tmp_path):
    data = write(draw("TFT", 3000, 4, truth("TFT")), tmp_path / "TFT.parquet")
    result = train_step(data, "TFT", forms="improved")
    result.save(tmp_path / "TFT.json")
    for step, forms in (("UT", "improved"), ("TFT", "production")):
        with pytest.raises(ParkfError, match=rf"fit of step TFT, forms 'improved'; expected step {step}"):
            neighbour(tmp_path / "TFT.json", step, forms)
    result.model_copy(update={"formula": "0" * 64}).save(tmp_path / "older.json")
    with pytest.raises(ParkfError, match=r"older\.json: other formulas than step TFT has now"):
        neighbour(tmp_path / "older.json", "TFT", "improved")
    with pytest.raises(ParkfError, match=r"none\.json: no such file"):
        neighbour(tmp_path / "none.json", "TFT", "improved")
