"""All widths of a step's noise grow by the same factor; correlations and other parameters stay."""

import numpy as np
import pytest
import sympy as sp

from parkf.io.errors import ParkfError
from parkf.model.codegen.numpy_step import NumpyStep, numpy_step
from parkf.model.steps import FORMS, Step
from parkf.model.steps.symbols import COMPONENTS
from parkf.training.fit_noise import widening, width_powers

STEPS = [pytest.param(step, id=f"{f.name}-{n}") for f in FORMS.values() for n, step in f.steps.items()]
NOISY = [one for one in STEPS if one.values[0].noise]


def _rows(count: int = 200) -> dict[str, np.ndarray]:
    random = np.random.default_rng(3)
    rows = {f"{c}{at}": random.uniform(-400, 400, count) for c in "xy" for at in ("0", "_in")}
    rows |= {f"t{c}{at}": random.uniform(-0.3, 0.3, count) for c in "xy" for at in ("0", "_in")}
    z = random.uniform(0, 2000, count)
    return rows | {
        "qop": random.choice([-1, 1], count) / random.uniform(1500, 1e5, count),
        "polarity": random.choice([-1.0, 1.0], count),
        "z0": z,
        "z1": z + random.choice([-50.0, 300.0], count),
    }


@pytest.mark.parametrize("step", NOISY)
def test_widths_grow_and_correlations_stay(step):
    functions, rows = numpy_step(step), _rows()
    random = np.random.default_rng(4)
    p = np.array([q.start for q in step.parameters]) + random.uniform(0.1, 0.3, len(step.parameters))
    before, after = functions.noise(p, rows), functions.noise(p * widening(step, 1.3), rows)
    for name in COMPONENTS:
        np.testing.assert_allclose(after[name], 1.3 * before[name], rtol=1e-12)
    for name in ("rho_x", "rho_y"):
        np.testing.assert_allclose(after[name], before[name], rtol=1e-12)


@pytest.mark.parametrize("step", STEPS)
def test_only_noise_is_scaled(step):
    kinds = np.array([q.kind for q in step.parameters])
    assert (widening(step, 1.3)[kinds != "noise"] == 1).all()
    assert (widening(step, 1.0) == 1).all()


def test_the_square_of_an_angle_grows_with_the_square():
    assert width_powers(numpy_step(FORMS["production"].steps["BEAM"])).tolist() == [2, 0, 0, 0]
    assert widening(FORMS["production"].steps["BEAM"], 1.1)[0] == pytest.approx(1.21)


def test_a_form_whose_widths_cannot_grow_alike_is_refused():
    v = FORMS["production"].steps["V"]
    fixed = {name: sigma + (1 if name == "x" else 0) for name, sigma in v.noise.items()}
    bad = Step(v.name, v.text, v.sets, v.parameters, v.outputs, fixed | {"x": sp.sympify(fixed["x"])})
    with pytest.raises(ParkfError, match=r"step V: no powers .* leave training\.noise_scale at 1"):
        width_powers(NumpyStep(bad))
