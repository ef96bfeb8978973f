import dataclasses
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

from parkf.codegen.numpy_step import COLUMNS, numpy_step
from parkf.detector.geometry import load_geometry
from parkf.steps import FORMS
from parkf.steps.corrections import OPENING
from parkf.steps.magnet import WEIGHTS, a, b
from parkf.steps.symbols import (
    COMPONENTS,
    Local,
    h,
    k,
    pol,
    state_derivative,
    tx,
    ty,
    x,
    y,
    z0,
    z1,
)

# Steps that sets of forms share are tested once.
ALL = {f"{step.name}, {name}": step for name, forms in FORMS.items() for step in forms.steps.values()}
UNIQUE = {step.formula_hash(): (label, step) for label, step in reversed(ALL.items())}
STEPS = dict(UNIQUE.values())
V = FORMS["production"].steps["V"]
every_step = pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)


def random_parameters(step, seed=3):
    random = np.random.default_rng(seed)
    return np.array([p.start for p in step.parameters]) + random.uniform(0.05, 0.2, len(step.parameters))


def random_rows(n=50, seed=1):
    random = np.random.default_rng(seed)
    rows = {
        "x0": random.normal(0, 300, n),
        "y0": random.normal(0, 300, n),
        "tx0": random.normal(0, 0.12, n),
        "ty0": random.normal(0, 0.12, n),
        "qop": random.choice([-1, 1], n) / random.uniform(2e3, 5e4, n),
        "polarity": random.choice([-1, 1], n),
        "z0": random.uniform(100, 700, n),
    }
    rows |= {"z1": rows["z0"] + random.uniform(-90, 200, n)}
    # Some began around the beam pipe.
    begins = {"x_in": random.normal(0, 60, n), "y_in": random.normal(0, 60, n)}
    return rows | begins | {"tx_in": random.normal(0, 0.12, n), "ty_in": random.normal(0, 0.12, n)}


def test_layout_is_the_triggers():
    forms = FORMS["production"]
    assert (forms.layout_version, forms.layout.constant_count) == (1, 466)
    shapes = {block.name: block.shape for block in forms.layout.blocks}
    assert shapes == {
        "V": (2, 6), "VUT": (1, 15), "UT": (6, 12), "UTTF": (1, 20), "UTT_META": (1, 19),
        "TFT": (1, 4), "T": (22, 12), "TLayer": (4, 12), "UTLayer": (1, 4), "BEAM": (2, 4),
    }  # fmt: skip
    assert forms.layout.offsets["BEAM"] == 466 - 8
    assert forms.table.coefficients == 80
    signature = {"x_grid": 1, "y_grid": 1, "deg_x1": 7, "deg_x2": 9, "deg_y1": 5, "deg_y2": 7}
    assert forms.table.signature == {"nbin_x": 60, "nbin_y": 50, **signature}


@every_step
def test_infinite_momentum_goes_straight(step):
    """k → 0 must leave the straight line, or the residual would not vanish beside the scattering."""
    # UTTF starts and ends at z_out: it has no path of its own.
    dz = 0 if step.name == "UTTF" else z1 - z0
    straight = {"x": x + tx * dz, "y": y + ty * dz, "tx": tx, "ty": ty}
    for name in COMPONENTS:
        limit = step.outputs[name].subs({k: 0, h: 0})
        points = {x: 12.0, y: -31.0, tx: 0.07, ty: -0.11, z0: 300.0, z1: 410.0}
        points |= dict(zip(step.symbols, random_parameters(step), strict=True))
        assert float((limit - straight[name]).subs(points)) == pytest.approx(0, abs=1e-9)


@every_step
def test_parity_turns_the_sign_of_h(step):
    """Flipping the sign of h and of the odd parameters changes no track and no scattering."""
    functions, rows, p = numpy_step(step), random_rows(), random_parameters(step)
    flipped = p * [parameter.parity for parameter in step.parameters]
    mirrored = rows | {"polarity": -rows["polarity"]}
    np.testing.assert_allclose(functions.predict(flipped, mirrored), functions.predict(p, rows), rtol=1e-12)
    if step.noise:
        for a, b in zip(
            functions.noise(flipped, mirrored).values(), functions.noise(p, rows).values(), strict=True
        ):
            np.testing.assert_allclose(a, b, rtol=1e-12)


@every_step
def test_kinds_say_where_a_parameter_acts(step):
    in_state = set().union(*(form.free_symbols for form in step.outputs.values()))
    in_noise = set().union(*(form.free_symbols for form in step.noise.values()))
    for symbol, parameter in zip(step.symbols, step.parameters, strict=True):
        if parameter.kind == "noise":
            assert symbol in in_noise - in_state
        elif parameter.kind == "free":
            assert symbol not in in_noise | in_state
        elif parameter.kind == "extrapolation":
            assert symbol in in_state - in_noise


@every_step
def test_gradients_are_the_numerical_ones(step):
    functions, rows, p = numpy_step(step), random_rows(), random_parameters(step)
    for c, component in enumerate(COMPONENTS):
        numerical = np.empty((50, len(p)))
        for i in range(len(p)):
            up, down = p.copy(), p.copy()
            up[i] += 1e-4
            down[i] -= 1e-4
            numerical[:, i] = (functions.predict(up, rows)[c] - functions.predict(down, rows)[c]) / 2e-4
        np.testing.assert_allclose(functions.gradient(component, p, rows), numerical, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("step", [s for s in STEPS.values() if s.noise], ids=lambda s: s.formula_hash()[:6])
def test_noise_gradients_are_the_numerical_ones(step):
    functions, rows, p = numpy_step(step), random_rows(), random_parameters(step)
    for name in step.noise:
        numerical = np.empty((50, len(p)))
        for i in range(len(p)):
            up, down = p.copy(), p.copy()
            up[i] += 1e-4
            down[i] -= 1e-4
            numerical[:, i] = (functions.noise(up, rows)[name] - functions.noise(down, rows)[name]) / 2e-4
        np.testing.assert_allclose(functions.noise_gradient(name, p, rows), numerical, rtol=1e-5, atol=1e-9)


@every_step
def test_jacobian_is_the_numerical_one(step):
    if any(form.has(Local) for form in step.outputs.values()):
        # Held as numbers, what is local is the same for neighbouring tracks.
        outputs = {n: form.replace(Local, lambda part: sp.Float(0.01)) for n, form in step.outputs.items()}
        step = dataclasses.replace(step, outputs=outputs)
    functions, rows, p = numpy_step(step), random_rows(), random_parameters(step)
    jacobian = functions.jacobian(p, rows)
    scales = {"x0": 1e-3, "y0": 1e-3, "tx0": 1e-6, "ty0": 1e-6, "qop": 1e-9}
    for column, (name, eps) in enumerate(scales.items()):
        up = functions.predict(p, rows | {name: rows[name] + eps})
        down = functions.predict(p, rows | {name: rows[name] - eps})
        numerical = (np.array(up) - np.array(down)).T / (2 * eps)
        # Rounding of x ~ 300 mm over 2 eps.
        np.testing.assert_allclose(jacobian[:, :, column], numerical, rtol=1e-5, atol=1e-12 * 300 / eps)


def test_rows_without_a_column_are_refused():
    rows = random_rows()
    del rows[COLUMNS[3]]
    with pytest.raises(KeyError, match="ty0"):
        numpy_step(V).predict(random_parameters(V), rows)


def test_six_point_weights_reproduce_quadratics():
    """The formula of Abramowitz & Stegun 25.2.67 is exact for polynomials of second degree."""
    assert sp.expand(sum(WEIGHTS.values())) == 1
    for i, j in [(1, 0), (0, 1), (2, 0), (1, 1), (0, 2)]:
        total = sum(w * sp.Integer(n[0]) ** i * sp.Integer(n[1]) ** j for n, w in WEIGHTS.items())
        assert sp.expand(total - a**i * b**j) == 0


def test_formula_hash_follows_the_formula():
    step = V
    assert step.formula_hash() == dataclasses.replace(step).formula_hash()
    other = dataclasses.replace(step, outputs=step.outputs | {"y": y})
    assert other.formula_hash() != step.formula_hash()


@every_step
def test_every_formula_has_a_rendering(step):
    lines = step.latex()
    assert len(lines) == len(step.parts) + 4 + len(step.noise)
    # As a report prints them: nobody reads a line of a thousand signs.
    assert all(len(line) < 1000 for line in lines.values())
    assert all("=" in line for line in lines.values())


def test_improved_forms_have_a_layout_of_their_own():
    improved, production = FORMS["improved"], FORMS["production"]
    assert improved.layout_version == 2
    assert improved.hash() != production.hash()
    assert improved.layout.block("T").shape[0] == 11
    # What the trigger's kernel has in constant memory may grow, but not by much.
    assert improved.layout.constant_count < 600


def test_local_hides_its_argument_from_states_and_not_from_parameters():
    p0 = sp.Symbol("p0", real=True)
    form = tx + h * Local(p0 * tx)
    assert state_derivative(form, tx) == 1
    assert state_derivative(form, k) == pol * p0 * tx
    assert sp.diff(form, p0) == h * tx


@every_step
def test_a_stiff_track_goes_straight(step):
    """At 1 TeV the field still bends it by more than the form may be wrong: δ falls at least as 1/p."""
    functions, p = numpy_step(step), np.array([q.start for q in step.parameters])
    rows = random_rows() | {"polarity": np.ones(50)}

    def bend(momentum):
        moved = functions.predict(p, rows | {"qop": np.full(50, 1 / momentum)})
        straight = functions.predict(p, rows | {"qop": np.full(50, 1e-30)})
        return np.abs(np.array(moved) - straight).max(axis=1)

    assert (bend(1e6) <= 0.11 * bend(1e5) + 1e-12).all()


def _noise_of_the_hop(**changed):
    rows = {"qop": 1 / 20e3, "polarity": 1.0, "z0": 7826.0, "z1": 7826.0, "x_in": 200.0, "y_in": 100.0}
    rows |= {"x0": 600.0, "y0": 300.0, "tx0": 0.1, "ty0": 0.05, "tx_in": 0.1, "ty_in": 0.05} | changed
    step = FORMS["improved"].steps["UTTF"]
    p = np.array([parameter.start for parameter in step.parameters])
    return {
        n: v[0] for n, v in numpy_step(step).noise(p, {n: np.array([v]) for n, v in rows.items()}).items()
    }


def test_hardly_anything_scatters_in_the_opening_around_the_beam_pipe():
    """Its size is the geometry's; the rest of the material is behind the bend, where slopes feel it alone."""
    data = Path(__file__).parents[2] / "data/geometry"
    for name in ("run3.yaml", "run3_fullsim.yaml"):
        slabs = load_geometry(data / name).description.slabs
        assert {slab.opening for slab in slabs if slab.name == "ut_box"} == {OPENING}
    outside = _noise_of_the_hop(x_in=36.0, y_in=10.0)
    assert outside == _noise_of_the_hop(x_in=-10.0, y_in=-36.0)
    inside = _noise_of_the_hop(x_in=-34.0, y_in=34.0)
    shares = {"x": 0.3, "y": 0.3, "tx": 0.6, "ty": 0.6, "rho_x": 1.0, "rho_y": 1.0}
    assert {n: inside[n] / outside[n] for n in shares} == pytest.approx(shares)


def test_scattering_grows_with_path_and_bend():
    """By hand: a turn in material across z, and what a kick of s makes of it behind the magnet."""
    straight, steep = _noise_of_the_hop(), _noise_of_the_hop(tx0=0.3, tx_in=0.3)
    n = np.sqrt(1 + 0.05**2 + np.array([0.1, 0.3]) ** 2)
    path, answer = np.sqrt(n), n * np.sqrt(1 + np.array([0.1, 0.3]) ** 2)
    assert steep["tx"] / straight["tx"] == pytest.approx((path[1] * answer[1]) / (path[0] * answer[0]))
    # Bent from 0.1 to 0.6: somewhere between (N'/N)^3 of a turn before and N'/N, a turn's gain across tx.
    bent = _noise_of_the_hop(tx0=0.6)
    stretch = np.sqrt((1 + 0.6**2 + 0.05**2) / (1 + 0.1**2 + 0.05**2))
    assert stretch < bent["tx"] / straight["tx"] < stretch**3
    assert 1 < bent["ty"] / straight["ty"] < stretch
    assert 1 < bent["x"] / straight["x"] < bent["tx"] / straight["tx"]


@pytest.mark.parametrize("name", ["V", "BEAM"])
def test_noise_is_wide_both_ways(name):
    """Widths of a step backward are as positive as forward: σ has no sign."""
    step, rows = FORMS["improved"].steps[name], random_rows(400)
    assert (rows["z1"] < rows["z0"]).any()
    widths = numpy_step(step).noise(random_parameters(step), rows)
    for which, width in widths.items():
        assert which.startswith("rho") or (np.asarray(width) > 0).all(), which
