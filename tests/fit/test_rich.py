"""States at the RICH planes agree with the true states that they start from, and between builds."""

from types import SimpleNamespace

import numpy as np
import pytest
from kalman_toy import generate

from parkf.fit import cpu, fit
from parkf.fit.fitter import FitOptions
from parkf.io.errors import ParkfError
from parkf.io.planes import RICH_PLANES
from parkf.model.codegen.numpy_step import numpy_step
from parkf.model.steps import FORMS
from parkf.model.steps.rich import RICH_STEPS

# For each plane: the step, its set, and where the step begins.
STEPS = (
    ("RICH_VELO", 0, "last VELO hit"),
    ("RICH_UT", 0, "first UT layer"),
    ("RICH_SCIFI", 0, "last SciFi layer"),
    ("RICH_SCIFI", 1, "last SciFi layer"),
)


def carried(toy, name, number, start, z):
    """The true state carried to the plane without scattering behind `start`."""
    state, z0 = toy.passed[start]
    step = RICH_STEPS[name]
    count = len(step.parameters)
    first = sum(len(one.sets) * len(one.parameters) for one in _before(name)) + number * count
    rows = dict(zip(("x0", "y0", "tx0", "ty0", "qop"), state.T, strict=True))
    rows |= {"z0": z0, "z1": np.full(len(z0), float(z)), "polarity": toy.arrays["polarity"]}
    numbers = toy.parameters.rich.numbers[first : first + count]
    return np.column_stack(numpy_step(step).predict(numbers.astype(float), rows)[:4])


def _before(name):
    steps = list(RICH_STEPS.values())
    return steps[: list(RICH_STEPS).index(name)]


@pytest.mark.parametrize("forms", FORMS)
@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("momentum", [3000.0, 10000.0, 50000.0])
def test_pulls_are_of_width_one(momentum, precision, forms):
    toy = generate(4000, momentum, seed=12, forms=forms)
    _, got = cpu.fit_with_rich(toy.parameters, toy.candidates(precision), threads=2)
    for z, step in zip(RICH_PLANES, STEPS, strict=True):
        true = carried(toy, *step, z)
        pulls = (got[f"state_{z}"] - true) / np.sqrt(got[f"covariance_{z}"][:, [0, 2, 5, 9]])
        np.testing.assert_allclose(pulls.std(axis=0), 1, atol=0.05, err_msg=str(z))
        np.testing.assert_allclose(pulls.mean(axis=0), 0, atol=0.08, err_msg=str(z))


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_the_fit_is_the_plain_one(precision):
    toy = generate(700, 8000.0, seed=4, efficiency=0.9)
    tracks = toy.candidates(precision)
    expected = fit(toy.parameters, tracks)
    got, _ = cpu.fit_with_rich(toy.parameters, tracks, threads=2)
    for name in ("x", "y", "tx", "ty", "qop"):
        sigma = np.sqrt(getattr(expected, 2 * name))
        assert np.abs((getattr(got, name) - getattr(expected, name)) / sigma).max() < 1e-3
    np.testing.assert_array_equal(got.status, expected.status)
    np.testing.assert_allclose(got.chi2_scifi, expected.chi2_scifi, rtol=1e-3)


def test_builds_and_threads_agree():
    toy = generate(700, 8000.0, seed=4)
    tracks = toy.candidates("float64")
    _, expected = cpu.fit_with_rich(toy.parameters, tracks, threads=1, build="plain")
    _, got = cpu.fit_with_rich(toy.parameters, tracks, threads=2)
    for z in RICH_PLANES:
        sigma = np.sqrt(expected[f"covariance_{z}"][:, [0, 2, 5, 9]])
        assert np.abs((got[f"state_{z}"] - expected[f"state_{z}"]) / sigma).max() < 1e-6


def test_a_bad_hit_does_not_reach_neighbours():
    toy = generate(64, 10000.0, seed=3)
    _, good = cpu.fit_with_rich(toy.parameters, toy.candidates("float32"), threads=1)
    toy.arrays["scifi_x"][5, 3] = np.inf
    _, got = cpu.fit_with_rich(toy.parameters, toy.candidates("float32"), threads=1)
    for name in good:
        np.testing.assert_array_equal(np.delete(got[name], 5, 0), np.delete(good[name], 5, 0))


def test_a_set_without_constants_is_refused():
    toy = generate(10, 10000.0, seed=3)
    parameters = SimpleNamespace(**vars(toy.parameters) | {"rich": None})
    with pytest.raises(ParkfError, match="no constants for them"):
        FitOptions(rich_states=True).check(parameters)


def test_the_number_of_constants_is_checked():
    toy = generate(10, 10000.0, seed=3)
    rich = SimpleNamespace(kernel_numbers=np.zeros(54, np.float32))
    parameters = SimpleNamespace(**vars(toy.parameters) | {"rich": rich})
    with pytest.raises(ValueError, match="expected 160 numbers"):
        cpu.fit_with_rich(parameters, toy.candidates("float32"), threads=1)
