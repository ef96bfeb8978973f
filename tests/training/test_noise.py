"""Fitted widths are core widths: exactly for normal distributions, to three per cent with tails."""

import numpy as np
import pytest
from toy_steps import COMPONENTS, STEPS, draw, mean_core, train_rows, truth

from parkf.model.codegen.numpy_step import numpy_step
from parkf.proof.validation.core import fit_core
from parkf.training.noise import _correlation, _limits

COUNT = 30_000


def _normal(random, count):
    return random.normal(size=(count, 2))


def _thin_layer(random, count):
    """Projected angles in units of their core, as single scatters off nuclei widen them.

    After Fruehwirth and Liendl, Comput. Phys. Commun. 141 (2001) 230, for half a per cent of a radiation
    length of silicon: a fifth in a tail whose space angle r is exceeded with probability 1/(1 + r²).
    """
    u = random.uniform(size=count)
    in_tail = random.uniform(size=count) < 0.22
    r = np.where(in_tail, np.sqrt((1 - u) / (u + 1e-6)), np.sqrt(-2 * np.log(u)))
    azimuth = 2 * np.pi * random.uniform(size=count)
    return np.stack([r * np.cos(azimuth), r * np.sin(azimuth)], axis=1)


def _between_layers(turn, seed):
    """A gap with half a layer at either end: both turn the slope, and the first also moves the position."""
    random = np.random.Generator(np.random.Philox(key=[seed, 1]))
    p = truth("UT")
    rows = draw("UT", 6 * COUNT, seed, p)
    first, second = turn(random, 6 * COUNT), turn(random, 6 * COUNT)
    angle = np.abs(rows["qop"]) * 0.9
    angle *= (1 + rows["tx0"] ** 2 + rows["ty0"] ** 2) ** 0.75
    for i, c in enumerate("xy"):
        size = angle * np.sqrt(1 + rows[f"t{c}0"] ** 2)
        rows[f"t{c}1"] = rows[f"t{c}e"] + size * (first + second)[:, i]
        rows[f"{c}1"] = rows[f"{c}e"] + size * (rows["z1"] - rows["z0"]) * first[:, i]
    return rows


@pytest.mark.parametrize(("turn", "low", "high"), [(_normal, 0.985, 1.015), (_thin_layer, 0.97, 1.0)])
def test_widths_are_those_of_the_core(turn, low, high):
    result = train_rows([_between_layers(turn, 7)], STEPS["UT"], numbers=range(1))[0]
    for component in COMPONENTS:
        assert low < mean_core(result.accuracy, component) < high, component


def test_tails_of_scattering_do_not_add_up_as_cores_do():
    """The core of a sum of many steps is wider than the quadratic sum of their cores."""
    random = np.random.Generator(np.random.Philox(key=[5, 1]))
    one = _thin_layer(random, 200_000)[:, 0]
    sixteen = sum(_thin_layer(random, 200_000)[:, 0] for _ in range(16)) / 4
    assert fit_core(sixteen).width / fit_core(one).width == pytest.approx(1.12, abs=0.03)


@pytest.mark.parametrize("rho", [0.3, -0.6, 0.99995, -1.0001, 1.002])
def test_the_likelihood_of_a_correlation_has_its_numerical_derivative(rho):
    """Beyond the largest correlation the likelihood rises like a wall, and its derivative leads back."""
    random = np.random.default_rng(3)
    truth_ = {"x": random.normal(size=20), "tx": random.normal(size=20)}

    def at(value, fraction=0.1):
        noise = {"x": np.full(20, 1.3), "tx": np.full(20, 0.8), "rho_x": np.full(20, value)}
        return _correlation("rho_x", truth_, noise, fraction)

    step = 1e-7
    _, slope, by_fraction = at(rho)
    np.testing.assert_allclose(
        slope, (at(rho + step)[0] - at(rho - step)[0]) / (2 * step), rtol=1e-3, atol=1e-4
    )
    numerical = (at(rho, 0.1 + step)[0] - at(rho, 0.1 - step)[0]) / (2 * step)
    np.testing.assert_allclose(by_fraction, numerical, rtol=1e-5, atol=1e-5)
    if abs(rho) > 0.9999:
        assert (np.sign(slope) == np.sign(rho)).all()


def test_correlation_of_position_and_slope():
    """One of two equal halves moves the position, so its correlation with the slope is 1/√2."""
    result = train_rows([_between_layers(_thin_layer, 9)], STEPS["UT"], numbers=range(1))[0]
    places = [i for i, one in enumerate(STEPS["UT"].parameters) if "correlation" in one.text]
    assert len(places) == 2
    for i in places:
        assert result.values[i] == pytest.approx(np.sqrt(0.5), abs=0.02)


@pytest.mark.parametrize("name", ["UT", "VUT", "V", "T"])
def test_correlations_stay_below_one(name):
    step, p = STEPS[name], truth(name)
    for i, parameter in enumerate(step.parameters):
        if parameter.text.startswith("correlation"):
            low, high = _limits(numpy_step(step), draw(name, 10, 1, p), p, i)
            assert -1 < low < -0.99 < 0.99 < high < 1


@pytest.mark.parametrize(("begin", "end"), [(510.0, 750.0), (250.0, 490.0), (250.0, 750.0)])
def test_what_narrows_a_width_halves_it_at_most(begin, end):
    """The width's change with z0 − 0.5 m starts below zero; rows are behind 0.5 m, before it, or both."""
    step, p = STEPS["VUT"], truth("VUT")
    functions, rows = numpy_step(step), draw("VUT", 200, 2, p)
    rows["z0"] = np.linspace(begin, end, 200)
    (index,) = (
        i for i, q in enumerate(step.parameters) if q.text.startswith("scattering in x") and "z0" in q.text
    )
    limits = _limits(functions, rows, p, index)
    before = functions.noise(p, rows)["x"]
    for limit, narrows in zip(limits, (end > 500, begin < 500), strict=True):
        assert np.isfinite(limit) == narrows
        if narrows:
            at = p.copy()
            at[index] = limit
            assert (functions.noise(at, rows)["x"] / before).min() == pytest.approx(0.5)
