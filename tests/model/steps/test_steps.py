import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

from parkf.detector.geometry import load_geometry
from parkf.model.codegen.numpy_step import COLUMNS, numpy_step
from parkf.model.steps import FORMS
from parkf.model.steps.corrections import OPENING
from parkf.model.steps.magnet import WEIGHTS, a, b
from parkf.model.steps.symbols import COMPONENTS, Local, h, k, pol, state_derivative, tx, ty, x, y, z0, z1

# Steps that several sets of forms share are tested once.
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
    # Some tracks began around the beam pipe.
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
    assert sum(piece.degree for piece in forms.table.pieces) == 80
    signature = {"x_grid": 1, "y_grid": 1, "deg_x1": 7, "deg_x2": 9, "deg_y1": 5, "deg_y2": 7}
    assert forms.table.signature == {"nbin_x": 60, "nbin_y": 50, **signature}


@every_step
def test_infinite_momentum_goes_straight(step):
    """At k → 0 only a straight line may remain, or the residual would not vanish beside the scattering."""
    # UTTF starts and ends at z_out, so its path has no length.
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
    layout = next(forms.layout for forms in FORMS.values() if step in forms.steps.values())
    flipped = p * [column.parity for column in layout.block(step.name).columns]
    assert (flipped != p).any() == any(form.has(h) for form in step.outputs.values())
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

    def compare(found, of, atol):
        moves = 1e-4 * np.eye(len(p))
        numerical = np.stack([(of(p + move) - of(p - move)) / 2e-4 for move in moves], axis=1)
        np.testing.assert_allclose(found, numerical, rtol=1e-5, atol=atol)

    for c, component in enumerate(COMPONENTS):
        compare(functions.gradient(component, p, rows), lambda q, c=c: functions.predict(q, rows)[c], 1e-7)
    for name in step.noise:
        compare(functions.noise_gradient(name, p, rows), lambda q, n=name: functions.noise(q, rows)[n], 1e-9)


@every_step
def test_jacobian_is_the_numerical_one(step):
    if any(form.has(Local) for form in step.outputs.values()):
        # Local terms are the same for neighbouring tracks, so a number replaces each of them.
        outputs = {n: form.replace(Local, lambda part: sp.Float(0.01)) for n, form in step.outputs.items()}
        step = dataclasses.replace(step, outputs=outputs)
    functions, rows, p = numpy_step(step), random_rows(), random_parameters(step)
    jacobian = functions.jacobian(p, rows)
    scales = {"x0": 1e-3, "y0": 1e-3, "tx0": 1e-6, "ty0": 1e-6, "qop": 1e-9}
    for column, (name, eps) in enumerate(scales.items()):
        up = functions.predict(p, rows | {name: rows[name] + eps})
        down = functions.predict(p, rows | {name: rows[name] - eps})
        numerical = (np.array(up) - np.array(down)).T / (2 * eps)
        # The limit is the rounding of x ~ 300 mm, divided by 2 eps.
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
    # A report prints these formulas, and nobody reads a line of a thousand characters.
    assert all(len(line) < 1000 for line in lines.values())
    assert all("=" in line for line in lines.values())


def test_improved_forms_have_a_layout_of_their_own():
    improved, production = FORMS["improved"], FORMS["production"]
    assert improved.layout_version == 3
    assert improved.hash() != production.hash()
    assert improved.layout.block("T").shape[0] == 11
    # The constant memory of a kernel may grow, but not by much: 2.8 kB.
    assert improved.layout.constant_count < 700


def test_local_hides_its_argument_from_states_and_not_from_parameters():
    p0 = sp.Symbol("p0", real=True)
    form = tx + h * Local(p0 * tx)
    assert state_derivative(form, tx) == 1
    assert state_derivative(form, k) == pol * p0 * tx
    assert sp.diff(form, p0) == h * tx


@every_step
def test_a_stiff_track_goes_straight(step):
    """From 100 GeV to 1 TeV, the bend of the form falls at least as 1/p."""
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
    """The opening has the geometry's size. Inside it, only the material behind the bend scatters tracks."""
    data = Path(__file__).parents[3] / "data/geometry"
    for name in ("run3.yaml", "run3_fullsim.yaml"):
        slabs = load_geometry(data / name).description.slabs
        assert {slab.opening for slab in slabs if slab.name == "ut_box"} == {OPENING}
    outside = _noise_of_the_hop(x_in=36.0, y_in=10.0)
    assert outside == _noise_of_the_hop(x_in=-10.0, y_in=-36.0)
    inside = _noise_of_the_hop(x_in=-34.0, y_in=34.0)
    shares = {"x": 0.3, "y": 0.3, "tx": 0.6, "ty": 0.6, "rho_x": 1.0, "rho_y": 1.0}
    assert {n: inside[n] / outside[n] for n in shares} == pytest.approx(shares)


def test_scattering_grows_with_path_and_bend():
    """Widths by hand: the scattering of inclined tracks, and its change by a kick that adds to tx/N."""
    straight, steep = _noise_of_the_hop(), _noise_of_the_hop(tx0=0.3, tx_in=0.3)
    n = np.sqrt(1 + 0.05**2 + np.array([0.1, 0.3]) ** 2)
    path, answer = np.sqrt(n), n * np.sqrt(1 + np.array([0.1, 0.3]) ** 2)
    assert steep["tx"] / straight["tx"] == pytest.approx((path[1] * answer[1]) / (path[0] * answer[0]))
    # tx is bent from 0.1 to 0.6. Its width grows by less than (N'/N)^3, the growth of a turn before the bend,
    # and by more than N'/N, the growth of a turn across tx.
    bent = _noise_of_the_hop(tx0=0.6)
    stretch = np.sqrt((1 + 0.6**2 + 0.05**2) / (1 + 0.1**2 + 0.05**2))
    assert stretch < bent["tx"] / straight["tx"] < stretch**3
    assert 1 < bent["ty"] / straight["ty"] < stretch
    assert 1 < bent["x"] / straight["x"] < bent["tx"] / straight["tx"]


@pytest.mark.parametrize("name", ["V", "BEAM"])
def test_noise_is_wide_both_ways(name):
    """The widths of a backward step are positive, like those of a forward step."""
    step, rows = FORMS["improved"].steps[name], random_rows(400)
    assert (rows["z1"] < rows["z0"]).any()
    widths = numpy_step(step).noise(random_parameters(step), rows)
    for which, width in widths.items():
        assert which.startswith("rho") or (np.asarray(width) > 0).all(), which


noisy_steps = pytest.mark.parametrize("step", [s for s in STEPS.values() if s.noise], ids=lambda s: s.name)


def one_track(momentum, **changed):
    """A track parallel to the beam, from the end of the VELO over 100 mm, away from the beam pipe."""
    rows = {"qop": 1 / np.atleast_1d(momentum), "polarity": 1.0, "z0": 500.0, "z1": 600.0}
    rows |= {"x0": 200.0, "y0": 100.0, "tx0": 0.0, "ty0": 0.0}
    rows |= {"x_in": 200.0, "y_in": 100.0, "tx_in": 0.0, "ty_in": 0.0} | changed
    return {name: np.full(np.size(momentum), value) for name, value in rows.items()}


def in_units(step, p):
    """Parameters in mm, MeV and similar units, by the text that describes each."""
    powers = (float(re.match(r"(1e-?\d+)?", q.unit)[0] or 1) for q in step.parameters)
    return {q.text: value * power for q, value, power in zip(step.parameters, p, powers, strict=True)}


@noisy_steps
def test_numbers_of_the_noise_are_what_their_texts_and_units_say(step):
    """For stiff tracks parallel to the beam, width times momentum is the number that the text describes."""
    p, momentum = np.array([q.start for q in step.parameters]), np.array([1e5, 1e6])
    noise, number = numpy_step(step).noise(p, one_track(momentum)), in_units(step, p)
    for c in "xy":
        angle = f"scattering angle in {c} times momentum"
        turn = number.get(angle, number.get("scattering angle times momentum"))
        turn = np.sqrt(number["scattering angle times momentum, squared"]) if turn is None else turn
        widths = [
            number.get(f"scattering of {c} times momentum"),
            number.get(f"scattering in {c} times momentum"),
            100 * number.get(f"scattering in {c} per dz times momentum", 0.0),
            100 * turn * number.get("lever of the scattering for the position", 0.0),
        ]
        (width,) = filter(None, widths)
        # Energy loss before the scattering, or by Landau's law, changes widths by a per mille at 100 GeV.
        np.testing.assert_allclose(noise[f"t{c}"] * momentum, turn, rtol=2e-3)
        np.testing.assert_allclose(noise[c] * momentum, width, rtol=2e-3)


@noisy_steps
def test_fits_start_from_scattering_that_there_is(step):
    """Scattering on the way moves a track by less than scattering at the start would."""
    way = {"UTTF": 7826 - 2665, "VUT": 2327.5 - 500}.get(step.name, 100)
    rows = one_track(1e4, z1=500.0 + way)
    noise = numpy_step(step).noise(np.array([q.start for q in step.parameters]), rows)
    for c in "xy":
        assert 0.5 < noise[c] / noise[f"t{c}"] / way < 1
        assert 0.5 < noise[f"rho_{c}"] < 1


@every_step
def test_fits_start_from_a_vertical_field(step):
    """The start values turn tx only; the fit finds the terms that turn ty."""
    rows, p = random_rows(), np.array([q.start for q in step.parameters])
    np.testing.assert_allclose(numpy_step(step).predict(p, rows)[3], rows["ty0"], rtol=1e-12)


@pytest.mark.parametrize("name", ["BEAM", "VUT", "UT", "T", "UTTF"])
@pytest.mark.parametrize(("tx", "ty"), [(-0.25, 0.05), (0.1, -0.2)])
def test_scattering_of_inclined_tracks(name, tx, ty):
    """Highland's angle grows with the root of the path, in any direction; geometry gives the slopes."""
    step = FORMS["improved"].steps[name]
    p = np.array([q.start for q in step.parameters])
    at = {"tx0": tx, "ty0": ty, "tx_in": tx, "ty_in": ty}
    straight, inclined = (numpy_step(step).noise(p, one_track(1e4, **slopes)) for slopes in ({}, at))
    direction = np.array([tx, ty, 1.0])
    path = np.linalg.norm(direction)
    # Two directions across the track, and the change of the slopes by a turn towards each.
    across = np.linalg.svd(direction[None] / path)[2][1:]
    turned = [direction / path + 1e-6 * one for one in across]
    change = np.array([one[:2] / one[2] - (tx, ty) for one in turned]) / 1e-6
    for c, size in zip("xy", np.sqrt(path * np.sum(change**2, axis=0)), strict=True):
        assert inclined[f"t{c}"] / straight[f"t{c}"] == pytest.approx(size, rel=1e-4)
        assert inclined[c] / straight[c] == pytest.approx(size, rel=1e-4)
        assert inclined[f"rho_{c}"] == straight[f"rho_{c}"]


def test_soft_tracks_scatter_by_the_spread_of_their_loss():
    """The relative widening falls as p^-3/2. At 1 GeV it is the parameter, at 4 GeV an eighth of it."""
    step = FORMS["improved"].steps["UTTF"]
    p = np.array([q.start for q in step.parameters])
    momentum = np.array([1e3, 4e3, 1e9])
    noise = numpy_step(step).noise(p, one_track(momentum))
    for name, growth in (("tx", 0.9), ("x", 0.5)):
        times = noise[name] * momentum
        np.testing.assert_allclose(times[:2] / times[2] - 1, [growth, growth / 8], rtol=1e-3)


@pytest.mark.parametrize("forms", FORMS)
@pytest.mark.parametrize("charge", [-1, 1])
def test_corrections_behind_the_magnet_are_as_large_as_their_units_say(forms, charge):
    """One number at a time, at 5 GeV: its unit has as many powers of MeV as its term has powers of q/p."""
    step = FORMS[forms].steps["UTTF"]
    rows = one_track(charge * 5e3)
    for i, parameter in enumerate(step.parameters):
        if parameter.kind != "extrapolation":
            continue
        p = np.eye(len(step.parameters))[i]
        moved = np.ravel(numpy_step(step).predict(p, rows)) - [200, 100, 0, 0]
        power = {"MeV": 1, "MeV²": 2, "MeV³": 3}[parameter.unit.split()[-1]]
        expected = in_units(step, p)[parameter.text] / (charge * 5e3) ** power
        component = parameter.text.split(",")[0]
        np.testing.assert_allclose(moved, [expected * (c == component) for c in COMPONENTS], rtol=1e-6)


@pytest.mark.parametrize(("begin", "late"), [(500.0, 0.0), (700.0, 0.2)])
def test_the_end_of_the_velo_is_where_changes_with_z_begin(begin, late):
    """In the improved step to the UT, changes with z vanish at 0.5 m and grow in proportion to z − 0.5 m."""
    step = FORMS["improved"].steps["VUT"]
    functions, rows = numpy_step(step), one_track(1e6, z0=begin, z1=2300.0)
    start = np.array([0.0 if q.text == "transverse kick" else q.start for q in step.parameters])

    def with_one_more(text):
        return start + [q.text == f"{text} with z0 − 0.5 m" for q in step.parameters]

    kick = functions.predict(with_one_more("change of the kick"), rows)[2]
    assert kick == pytest.approx(10 * late / 1e6, rel=1e-4, abs=1e-15)
    for c in "xy":
        more = functions.noise(with_one_more(f"scattering in {c} times momentum,"), rows)[c]
        assert more - functions.noise(start, rows)[c] == pytest.approx(1e3 * late / 1e6, abs=1e-12)


# Terms for a field that differs left and right, or up and down.
WITHOUT_SYMMETRY = {
    *(f"field that bends tx, with {term}" for term in ("X", "Y", "X·Y", "Y^5", "X·Y^4")),
    "field that turns ty",
    *(f"field that turns ty, with {term}" for term in ("X", "Y", "H", "X^2", "Y^2", "X^3", "X^5")),
}


@pytest.mark.parametrize("name", ["V", "VUT", "UT", "T"])
def test_a_dipole_is_symmetric(name):
    """Tracks mirrored in x with opposite charges, or in y, move alike, except for terms without symmetry."""
    step = FORMS["improved"].steps[name]
    functions, rows, p = numpy_step(step), random_rows(), random_parameters(step)
    p[[q.text in WITHOUT_SYMMETRY for q in step.parameters]] = 0
    there = np.array(functions.predict(p, rows))
    for axis, also in (("x", ["qop"]), ("y", [])):
        names = [f"{axis}0", f"t{axis}0", *also]
        mirrored = functions.predict(p, rows | {c: -rows[c] for c in names})
        signs = [-1 if axis in c else 1 for c in COMPONENTS]
        np.testing.assert_allclose(np.array(mirrored).T * signs, there.T, rtol=1e-12, atol=1e-12)
