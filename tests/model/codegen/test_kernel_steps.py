"""The generated C++ agrees with the symbolic steps in value, Jacobian, covariance transport and noise."""

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import parkf._fitter as _fitter
import pytest
import sympy as sp

from parkf.model.codegen.cpp_magnet import magnet_functions
from parkf.model.codegen.cpp_transport import NAMES, SparseJacobian
from parkf.model.codegen.header import by_name_header, kernel_header
from parkf.model.codegen.numpy_step import BEFORE_COLUMNS, numpy_step
from parkf.model.steps import FORMS
from parkf.model.steps.frozen import kernel_forms
from parkf.model.steps.rich import OWN_STEPS
from parkf.model.steps.symbols import Local

LAYOUTS = Path(__file__).parents[3] / "params/layouts"
STEPS = [
    (name, step)
    for name, forms in FORMS.items()
    for step in (*forms.steps.values(), *(replace(step, noise={}) for step in OWN_STEPS))
]
every_step = pytest.mark.parametrize(("forms", "step"), STEPS, ids=lambda v: getattr(v, "name", v))
every_forms = pytest.mark.parametrize("forms", FORMS)

LOWER = np.tril_indices(4)
# z of the planes that the kernel's steps need, in the order of `Step.kernel_inputs`.
PLANES = {
    "TFT": {"lean1": 0.0036, "plane1": 7830.0, "z0": 7826.0},
    "T": {"lean0": 0.0036, "lean1": 0.0041, "plane0": 8036.0, "plane1": 8508.0},
}
FIXED = {"z0": 300.0, "z1": 480.0}
STATE = np.array([120.0, -80.0, 0.11, -0.07, -1 / 4000])


def case(step, seed=5):
    random = np.random.default_rng(seed)
    p = np.zeros(40)
    m = len(step.parameters)
    p[:m] = np.array([q.start for q in step.parameters]) + random.uniform(0.05, 0.2, m)
    root = random.normal(size=(4, 4))
    places = PLANES.get(step.name, FIXED)
    values = [places[str(symbol)] for symbol in step.kernel_inputs]
    return p, np.array(values + [0.0] * (4 - len(values))), root @ root.T


def z_of(step, state):
    """z of origin and target, worked out from the planes by hand."""
    y, ty = state[[1, 3]]
    if step.name not in PLANES:
        return FIXED["z0"], FIXED["z1"]
    place = PLANES[step.name]
    z0 = place["z0"] if "z0" in place else place["plane0"] + place["lean0"] * y
    # Find z1 on the leaning plane: each round uses the track's y at the z1 of the round before.
    z1 = place["plane1"]
    for _ in range(20):
        z1 = place["plane1"] + place["lean1"] * (y + ty * (z1 - z0))
    return z0, z1


def holds_local(step):
    """Whether the step leaves out what changes little between neighbouring tracks."""
    return any(form.has(Local) for form in step.outputs.values())


@every_step
@pytest.mark.parametrize("polarity", [1.0, -1.0])
def test_state_and_noise_are_those_of_the_formulas(forms, step, polarity):
    p, planes, covariance = case(step)
    state, _, _, noise = _fitter.step(forms, step.name, p, polarity, planes, STATE, covariance[LOWER])
    z0, z1 = z_of(step, STATE)
    keys = ("x0", "y0", "tx0", "ty0", "qop", "polarity", "z0", "z1")
    rows = {key: np.array([v]) for key, v in zip(keys, (*STATE, polarity, z0, z1), strict=True)}
    # Some formulas use the state before the hop through the magnet. A step that runs alone uses its own.
    rows |= {key: np.array([v]) for key, v in zip(BEFORE_COLUMNS, STATE, strict=False)}
    functions = numpy_step(step)
    parameters = p[: len(step.parameters)]
    np.testing.assert_allclose(state[:4], np.ravel(functions.predict(parameters, rows)), rtol=1e-12)
    assert state[4] == STATE[4]
    if not step.noise:
        assert not noise.any()
        return
    s = {name: value[0] for name, value in functions.noise(parameters, rows).items()}
    expected = [
        *(s["x"] ** 2, s["rho_x"] * s["x"] * s["tx"], s["tx"] ** 2),
        *(s["y"] ** 2, s["rho_y"] * s["y"] * s["ty"], s["ty"] ** 2),
    ]
    np.testing.assert_allclose(noise, expected, rtol=1e-11)


@every_step
def test_jacobian_is_the_numerical_one(forms, step):
    p, planes, covariance = case(step)

    def carried(state):
        return _fitter.step(forms, step.name, p, -1.0, planes, state, covariance[LOWER])[0]

    columns = _fitter.step(forms, step.name, p, -1.0, planes, STATE, covariance[LOWER])[1]
    # For steps between planes, only levers and bend are kept; the other elements are those of the identity.
    kept = np.zeros((4, 5), dtype=bool)
    kept[[0, 0, 2, 2, 1], [2, 4, 2, 4, 3]] = True
    kept |= step.name == "UTTF"
    np.testing.assert_array_equal(columns.T[~kept], np.eye(4, 5)[~kept])
    for j, eps in enumerate([1e-2, 1e-2, 1e-5, 1e-5, 1e-8]):
        shift = np.eye(5)[j] * eps
        numerical = (carried(STATE + shift) - carried(STATE - shift)) / (2 * eps)
        # The limits allow for the rounding of x ~ 100 mm over 2 eps, and for the third derivative.
        found, expected = columns[j][kept[:, j]], numerical[:4][kept[:, j]]
        np.testing.assert_allclose(
            found, expected, rtol=1e-2 if holds_local(step) else 1e-6, atol=1e-13 * 100 / eps
        )


@every_step
def test_sparse_transport_is_the_dense_product(forms, step):
    p, planes, covariance = case(step)
    _, columns, transported, _ = _fitter.step(forms, step.name, p, 1.0, planes, STATE, covariance[LOWER])
    dense = columns[:4].T @ covariance @ columns[:4]
    np.testing.assert_allclose(transported, dense[LOWER], rtol=1e-12, atol=1e-14)


def run_here(lines, function, f, **arguments):
    """Run a generated function, whose statements are sums and products, as Python."""
    begin = next(i for i, line in enumerate(lines) if f" {function}(const Jacobian" in line)
    body = lines[begin + 1 : lines.index("}", begin)]
    code = "\n".join(
        re.sub(r"^c(\(.*?\)) =", r"c[\1] =", line.strip().removeprefix("const T ").rstrip(";"))
        for line in body
    )
    exec(code, {"S": float, "f": f} | arguments)


class Lower(dict):
    """The lower triangle of a covariance, as the kernel stores it."""

    def __init__(self, matrix):
        super().__init__(((i, j), matrix[i, j]) for i in range(4) for j in range(i + 1))

    def __call__(self, i, j):
        return self[i, j]


def check_products(lines, matrix, covariance, suffix="", part=range(4)):
    """The generated F C Fᵀ, F v and F v + ∂/∂(q/p) agree with products of full matrices."""
    f = SimpleNamespace(
        **{f"{a}_{b}": matrix[i, j] for i, a in enumerate(NAMES) for j, b in enumerate(NAMES)}
    )
    c, square = Lower(covariance), matrix[:4, :4]
    for i, j in [place for place in c if suffix and sum(place) % 2]:
        del c[i, j]  # The faster function does not change the elements that couple x and y.
    run_here(lines, "transport_decoupled" if suffix else "transport", f, c=c)
    expected = square @ covariance @ square.T
    for place, element in c.items():
        assert element == pytest.approx(expected[place], rel=1e-12, abs=1e-12), place
    whole = np.where(np.isin(range(4), part), [0.3, -1.1, 0.7, 2.0], 0.0)
    for function, added in (("apply", 0.0), ("total_derivative", matrix[:4, 4])):
        v = whole.copy()
        run_here(lines, function + suffix, f, v=v)
        wanted = np.where(np.isin(range(4), part), square @ whole + added, 0.0)
        np.testing.assert_allclose(v, wanted, rtol=1e-12, err_msg=function)


def a_pattern(random, *, decoupled):
    """Random zeros, ones and numbers, as symbols and as values."""
    kind = random.choice(["zero", "one", "number"], (5, 5), p=[0.6, 0.1, 0.3])
    if decoupled:
        # As in the VELO, x and y do not mix, and slopes do not depend on positions.
        kind[np.add.outer(range(5), range(5)) % 2 == 1] = "zero"
        kind[[2, 3], [0, 1]] = "zero"
    kind[range(5), range(5)] = random.choice(["one", "number"], 5, p=[0.7, 0.3])
    values = np.where(kind == "number", random.normal(size=(5, 5)), kind == "one")
    symbols = sp.Matrix(
        5, 5, lambda i, j: sp.Symbol(f"e{i}{j}") if kind[i, j] == "number" else int(values[i, j])
    )
    return symbols, values


@pytest.mark.parametrize("seed", range(40))
def test_any_sparse_jacobian_multiplies_as_the_dense_one(seed):
    """Some rows can be transported one by one in any order; other rows depend on each other."""
    random = np.random.default_rng(seed)
    root = random.normal(size=(4, 4))
    symbols, values = a_pattern(random, decoupled=False)
    check_products(SparseJacobian("Any", symbols).functions(), values, root @ root.T)
    # (x, tx) and (y, ty) are uncorrelated, and remain so.
    symbols, values = a_pattern(random, decoupled=True)
    root[np.add.outer(range(4), range(4)) % 2 == 1] = 0
    lines = SparseJacobian("Apart", symbols).functions()
    check_products(lines, values, root @ root.T)
    check_products(lines, values, root @ root.T, "_x", [0, 2])


@every_forms
def test_the_hop_through_the_magnet_multiplies_as_the_dense_matrix(forms):
    """The table has derivatives by slopes and q/p; shifts in x and y pass through unchanged."""
    random = np.random.default_rng(7)
    matrix = np.eye(5)
    matrix[:4, 2:] = random.normal(size=(4, 3))
    root = random.normal(size=(4, 4))
    lines = magnet_functions(FORMS[forms])
    check_products(lines, matrix, root @ root.T)
    fields = lines[lines.index("struct JacobianMagnet {") + 1].strip().removeprefix("T ").rstrip(";")
    assert fields.split(", ") == [f"{a}_{b}" for a in NAMES[:4] for b in NAMES[2:]]


def test_unknown_step_is_refused():
    with pytest.raises(ValueError, match="unknown step 'X'"):
        _fitter.step("improved", "X", np.zeros(40), 1.0, np.zeros(4), STATE, np.zeros(10))


def test_the_compiled_kernel_is_made_from_these_formulas():
    assert _fitter.formulas == {name: forms.hash() for name, forms in kernel_forms(LAYOUTS).items()}


@every_forms
def test_generation_is_reproducible_and_free_of_double_literals(forms):
    """One double literal would turn a float32 fit to float64 silently."""
    header = kernel_header(FORMS[forms], forms)
    assert header == kernel_header(FORMS[forms], forms)
    assert by_name_header(FORMS[forms]) == by_name_header(FORMS[forms])
    code = re.sub(r"//.*|\"[^\"]*\"", "", header)
    assert not re.findall(r"(?<!S\()(?<![\w.])\d+\.\d*(?!\w*\))", code)
